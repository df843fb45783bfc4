// The code that `make proto` writes from `proto/tickmind/v1`; do not edit it.

/** The kinds of action. The number is the code of packed columns plus one. */
export type ActionType =
  | "ACTION_TYPE_UNSPECIFIED"
  | "ACTION_TYPE_WAIT"
  | "ACTION_TYPE_MOVE"
  | "ACTION_TYPE_PICKUP"
  | "ACTION_TYPE_USE"
  | "ACTION_TYPE_SAY"
  | "ACTION_TYPE_INTERACT"
  | "ACTION_TYPE_DROP"
  | "ACTION_TYPE_GIVE"
  | "ACTION_TYPE_SLEEP"
  | "ACTION_TYPE_WAKE"
  | "ACTION_TYPE_PUT"
  | "ACTION_TYPE_TAKE"
  | "ACTION_TYPE_BUY"
  | "ACTION_TYPE_SELL"
  | "ACTION_TYPE_OFFER"
  | "ACTION_TYPE_ACCEPT"
  | "ACTION_TYPE_DECLINE"
  | "ACTION_TYPE_BUILD";

/** What an agent is doing. */
export type AgentState =
  | "AGENT_STATE_UNSPECIFIED"
  | "AGENT_STATE_STARTING"
  | "AGENT_STATE_RUNNING"
  | "AGENT_STATE_DELIBERATING"
  | "AGENT_STATE_DEGRADED"
  | "AGENT_STATE_STOPPING";

/** A way to move or to face. The x axis grows to the east and the y axis to the south. */
export type Direction =
  | "DIRECTION_UNSPECIFIED"
  | "DIRECTION_N"
  | "DIRECTION_NE"
  | "DIRECTION_E"
  | "DIRECTION_SE"
  | "DIRECTION_S"
  | "DIRECTION_SW"
  | "DIRECTION_W"
  | "DIRECTION_NW";

/** What can happen to an actor as a whole. */
export type LifecycleKind =
  | "LIFECYCLE_KIND_UNSPECIFIED"
  | "LIFECYCLE_KIND_SPAWNED"
  | "LIFECYCLE_KIND_DESPAWNED"
  | "LIFECYCLE_KIND_CONTROLLED"
  | "LIFECYCLE_KIND_UNCONTROLLED"
  | "LIFECYCLE_KIND_PLAYED"
  | "LIFECYCLE_KIND_UNPLAYED";

/** Why something was refused or failed. The number is the code of packed columns. */
export type Reason =
  | "REASON_UNSPECIFIED"
  | "REASON_LATE_TICK"
  | "REASON_EARLY_TICK"
  | "REASON_INVALID_LEASE"
  | "REASON_EXPIRED_LEASE"
  | "REASON_DUPLICATE_INTENT"
  | "REASON_UNKNOWN_ENTITY"
  | "REASON_ILLEGAL_ACTION"
  | "REASON_TEXT_TOO_LONG"
  | "REASON_OVERLOADED"
  | "REASON_LEASE_HELD"
  | "REASON_STOPPING"
  | "REASON_OUT_OF_BOUNDS"
  | "REASON_NOT_WALKABLE"
  | "REASON_ILLEGAL_DIAGONAL"
  | "REASON_TILE_CONTESTED"
  | "REASON_SWAP"
  | "REASON_CYCLE"
  | "REASON_OCCUPIED"
  | "REASON_BLOCKED_BY_FAILED_MOVE"
  | "REASON_ASLEEP"
  | "REASON_INCAPACITATED"
  | "REASON_NOT_ASLEEP"
  | "REASON_TOO_TIRED"
  | "REASON_UNKNOWN_KIND"
  | "REASON_UNKNOWN_TARGET"
  | "REASON_NOTHING_HERE"
  | "REASON_NOT_IN_INVENTORY"
  | "REASON_INVENTORY_FULL"
  | "REASON_NOT_USABLE"
  | "REASON_TOO_FAR"
  | "REASON_WRONG_STATE"
  | "REASON_MISSING_ITEM"
  | "REASON_TARGET_OCCUPIED"
  | "REASON_CLOSED"
  | "REASON_NOT_A_CONTAINER"
  | "REASON_NOT_OWNER"
  | "REASON_CONTAINER_FULL"
  | "REASON_NOT_FOR_SALE"
  | "REASON_NO_OFFER"
  | "REASON_AWAY"
  | "REASON_STILL_WALKING"
  | "REASON_ALREADY_THERE"
  | "REASON_NONE_LEFT"
  | "REASON_PLAYED";

/** What went wrong with a WebSocket. */
export type SocketErrorCode =
  | "SOCKET_ERROR_CODE_UNSPECIFIED"
  | "SOCKET_ERROR_CODE_BAD_FRAME"
  | "SOCKET_ERROR_CODE_NOT_ALLOWED"
  | "SOCKET_ERROR_CODE_REFUSED"
  | "SOCKET_ERROR_CODE_OVERLOADED"
  | "SOCKET_ERROR_CODE_UNREACHABLE"
  | "SOCKET_ERROR_CODE_SILENT"
  | "SOCKET_ERROR_CODE_STALLED"
  | "SOCKET_ERROR_CODE_STOPPING"
  | "SOCKET_ERROR_CODE_INTERNAL";

/** What a viewer can ask for. */
export type ViewerEventType =
  | "VIEWER_EVENT_TYPE_UNSPECIFIED"
  | "VIEWER_EVENT_TYPE_STATE"
  | "VIEWER_EVENT_TYPE_RESULT"
  | "VIEWER_EVENT_TYPE_UTTERANCE"
  | "VIEWER_EVENT_TYPE_OBJECT"
  | "VIEWER_EVENT_TYPE_LIFECYCLE"
  | "VIEWER_EVENT_TYPE_THOUGHT"
  | "VIEWER_EVENT_TYPE_STATUS"
  | "VIEWER_EVENT_TYPE_INSIGHT"
  | "VIEWER_EVENT_TYPE_NEED"
  | "VIEWER_EVENT_TYPE_RULE";

/** Accept the offer of an actor on a tile beside this one: both sides are exchanged at once. */
export interface Accept {
  /** The actor that made the offer. */
  targetId: string;
}

/** Whether an intent was received in time and may be tried. */
export interface Ack {
  /** Whether the world will try it. */
  accepted: boolean;
  /** Why not, if it will not. */
  reason: Reason;
}

/** An entity in sight did or tried something other than moving, speaking and waiting. */
export interface Acted {
  /** What it did. */
  result?: ActionResult;
}

/** What `Interact` with a verb does. */
export interface ActionInfo {
  /** The verb. */
  verb: string;
  /** The state that the object is in after the work. */
  to: string;
  /** The number of steps. */
  work: number;
  /** What must be carried and is kept. */
  needs: ItemAmount[];
  /** What must be carried and is used up by the last step. */
  consumes: ItemAmount[];
  /** What the actor of the last step gets. */
  yields: ItemAmount[];
  /** When it can be done; always if it is missing. */
  hours?: Hours;
  /** The seasons in which it can be done; all if there is none. */
  seasons: string[];
  /** The weather in which it can be done; any if there is none. */
  weather: string[];
  /** Tools that must be carried, each with the number of times after which one breaks on average. */
  wears: ItemAmount[];
  /** Whether the object is gone after the work. */
  removes: boolean;
}

/** What an intent did. */
export interface ActionResult {
  /** Who acted. */
  actorId: string;
  /** What was tried. */
  actionType: ActionType;
  /** Whether it worked. */
  ok: boolean;
  /** Why not, if it did not. */
  reason: Reason;
  /** On what or whom, if on anything. */
  targetId: string;
  /** What it changed. */
  effects: Effect[];
}

/** The state of some actors as columns, packed like ObservationColumns. */
export interface ActorColumns {
  /** The int32 rows of the actors, ascending, none twice. */
  actor: Uint8Array;
  /** The int32 places from the west. */
  x: Uint8Array;
  /** The int32 places from the north. */
  y: Uint8Array;
  /** The int32 status bits. */
  statusBits: Uint8Array;
  /** The int8 directions that they look in. */
  facing: Uint8Array;
}

/** A setting of a character's program. */
export interface AgentSetting {
  /** The name of the setting. */
  name: string;
  /** A text. */
  text?: string;
  /** A whole number. */
  whole?: number;
  /** Any number. */
  number?: number;
  /** True or false. */
  flag?: boolean;
  /** A list of texts. */
  texts?: AgentSettingTexts;
}

/** A list of texts. */
export interface AgentSettingTexts {
  /** The texts. */
  items: string[];
}

/** How an agent is doing. */
export interface AgentStatus {
  /** The entity in the world. */
  entityId: string;
  /** The last tick that the agent saw. */
  tickId: number;
  /** What it is doing. */
  state: AgentState;
  /** The same for people, in a few words. */
  detail: string;
  /** The observations that it got so far. */
  observations: number;
  /** The intents that it sent so far. */
  intents: number;
  /** Those of them that were refused. */
  refused: number;
  /** The deliberations that it finished so far. */
  thoughts: number;
  /** Those of them that failed. */
  failedThoughts: number;
  /** What it did in each tick since the last report, up to and with tick_id: letters with numbers of ticks, such as a40l1a9. a: perceived and acted, l: acted too late, p: only perceived, m: missed; and without a tick of their own b: its process began, q: it asked a model after the turn before. */
  turns: string;
  /** The reports that its process could not send so far. */
  droppedReports: number;
  /** The program of its process, with versions; in the first status after a start. */
  program: string;
}

/** A rectangle of tiles, its edges included. */
export interface Area {
  /** The westernmost tiles. */
  west: number;
  /** The northernmost tiles. */
  north: number;
  /** The easternmost tiles. */
  east: number;
  /** The southernmost tiles. */
  south: number;
}

/** What stands on a Blackboard under one key. */
export interface BoardEntry {
  /** The key. */
  key: string;
  /** The value as JSON; what is too long is a string with its beginning. */
  valueJson: string;
}

/** Build an object on a tile beside this one. */
export interface Build {
  /** The kind of the object. */
  kind: string;
  /** The way to the tile. */
  direction: Direction;
}

/** How ticks make days. */
export interface CalendarInfo {
  /** The number of ticks in a day. */
  dayTicks: number;
  /** The minute of the first day in which the world begins. */
  firstMinute: number;
  /** The seasons, in their order. */
  seasons: SeasonInfo[];
  /** The kinds of weather, for seasons that have none of their own. */
  weather: WeatherWeight[];
  /** What the weather of each day is derived from. */
  weatherKey: number;
  /** The festivals. */
  festivals: FestivalInfo[];
  /** When it is night, if it ever is. */
  night?: Hours;
}

/** Why the server ends a stream. No frame follows it. */
export interface Closed {
  /** The reason, such as an expired lease or the end of the world. */
  reason: Reason;
  /** After how long another try may work, if that is known. */
  retryAfterMs: number;
}

/** An object that holds items, which lie on its tile. */
export interface ContainerInfo {
  /** How many items it holds at most. */
  holds: number;
  /** What it sells, in ascending order of items. */
  sells: Price[];
  /** What it buys, in ascending order of items. */
  buys: Price[];
  /** When it buys and sells; always if it is left out. */
  hours?: Hours;
}

/** Whether the intent of a tick was received. */
export interface ControlAck {
  /** The tick that it was for. */
  tickId: number;
  /** The acknowledgement. */
  ack?: Ack;
}

/** The intent of one tick. */
export interface ControlIntent {
  /** The tick that it is for. */
  tickId: number;
  /** What the entity does. */
  intent?: Intent;
}

/** Who wants to control which entity. */
export interface ControlOpen {
  /** The entity. */
  entityId: string;
  /** The controller's name for itself. */
  controllerId: string;
  /** The secret of the lease that this controller had before, if it had one. */
  previousLeaseId: string;
  /** Whether to send the floors of the tiles in sight. */
  wantFloors: boolean;
  /** Whether a person plays the entity and borrows it from its agent, if it has one. The agent perceives on, its intents are refused until the person leaves or the person's lease runs out. Only with the right of an operator. */
  play: boolean;
}

/** The lease that keeps the entity under control. */
export interface ControlOpened {
  /** The lease. */
  lease?: Lease;
  /** The run that the world is in: the same after a world went on, another after it began anew. Empty if it has no name. */
  runId: string;
  /** The seed of all chance in minds in this run, derived from the run's own. The same run has the same one. */
  mindSeed: number;
  /** After how many ticks a reply of a model takes effect; 0: as soon as it arrives. */
  thinkingTicks: number;
  /** The places and the calendar of the world. Hosts of many entities have them from EntityDiscovery. */
  setting?: WorldSetting;
  /** Who the entity is, if that is known. */
  persona?: Persona;
  /** The kinds of objects, with what can be done with them. */
  kinds: KindInfo[];
  /** The kinds of items, with what using one does, and how long one lasts. */
  items: ItemInfo[];
  /** The kinds of floor by their codes, if some are slow or harmful; observations have the codes then. */
  floors: FloorInfo[];
  /** The goals of the world that are for the entity. */
  goals: GoalInfo[];
}

/** One frame up. */
export interface ControlRequest {
  /** Says who wants to control what; the first frame and no other. */
  open?: ControlOpen;
  /** Says what the entity does. */
  intent?: ControlIntent;
  /** Says that the agent is alive. */
  keepAlive?: KeepAlive;
  /** Gives the entity up. */
  release?: Release;
}

/** One frame down. */
export interface ControlResponse {
  /** The entity is under control; the first frame and no other. */
  opened?: ControlOpened;
  /** A tick begins. */
  observation?: Observation;
  /** An intent was received or refused. */
  ack?: ControlAck;
  /** The stream ends. */
  closed?: Closed;
}

/** Decline the offer of an actor, or take back the own offer to it. */
export interface Decline {
  /** The other actor. */
  targetId: string;
}

/** Lay items down on the tile that the actor stands on. */
export interface Drop {
  /** The kind of item. */
  kind: string;
  /** How many to lay down, at least one; one if it is left out. */
  amount?: number;
  /** The item itself, in worlds with unique items. */
  itemId: string;
}

/** One number that an action changed. */
export interface Effect {
  /** What changed, such as "inventory.berries" or "hunger". */
  name: string;
  /** The change, or for work and states the new value. */
  value: number;
}

/** An entity came into sight. */
export interface Entered {
  /** The entity. */
  entityId: string;
  /** Its tile's place from the west. */
  x: number;
  /** Its tile's place from the north. */
  y: number;
}

/** An actor that can be controlled. */
export interface EntityInfo {
  /** Its name in the world. */
  entityId: string;
  /** What it is. */
  type: string;
  /** What else is known of it; assignments go by these. */
  tags: string[];
  /** The tick in which it came. */
  spawnTick: number;
  /** Who it is, if that is known. */
  persona?: Persona;
}

/** What an observer noticed since its last observation. */
export interface Event {
  /** An entity came into sight. */
  entered?: Entered;
  /** An entity went out of sight. */
  left?: Left;
  /** An entity moved in sight. */
  moved?: Moved;
  /** An entity acted in sight. */
  acted?: Acted;
  /** An actor spoke within hearing. */
  heard?: Heard;
}

/** Move items between the actor and a container on a tile beside it: all of them or none. */
export interface Exchange {
  /** The container. */
  targetId: string;
  /** The kind of item. */
  kind: string;
  /** How many, at least one; one if it is left out. */
  amount?: number;
}

/** A festival. */
export interface FestivalInfo {
  /** The name of the festival. */
  name: string;
  /** The day of the first one, from 1. */
  day: number;
  /** The number of days until the next one; 0 if it comes once. */
  every: number;
  /** When it is on; the whole day if it is missing. */
  hours?: Hours;
  /** The zone that it is in, if it is in one. */
  where: string;
  /** What it is for. */
  purpose: string;
}

/** A kind of floor. */
export interface FloorInfo {
  /** The name of the floor. */
  name: string;
  /** Whether one can step there. */
  walkable: boolean;
  /** Whether it blocks sight. */
  opaque: boolean;
  /** The dangers of it. */
  hazards: string[];
  /** What standing there adds to energy in each tick. */
  energy: number;
  /** What standing there adds to hunger in each tick. */
  hunger: number;
  /** How many ticks a step onto it takes; one if it is 0. */
  stepTicks: number;
  /** What standing there adds to the world's own needs in each tick. */
  ownNeeds: NeedChange[];
}

/** What to show. */
export interface GetViewerSnapshotRequest {
  /** The filter, of which actors and regions count. */
  filter?: ViewFilter;
}

/** The world after a tick. */
export interface GetViewerSnapshotResponse {
  /** The snapshot. */
  snapshot?: ViewerSnapshot;
}

/** Hand items to an actor on a tile beside this one. */
export interface Give {
  /** The actor that gets them. */
  targetId: string;
  /** The kind of item. */
  kind: string;
  /** How many to give, at least one; one if it is left out. */
  amount?: number;
  /** The item itself, in worlds with unique items. */
  itemId: string;
}

/** A goal of a world: one condition, and what reaching it brings. */
export interface GoalInfo {
  /** The name of the goal. */
  name: string;
  /** The score of each actor that reaches it. */
  score: number;
  /** Whether the run ends with the tick in which it is reached. */
  ends: boolean;
  /** All of these tags choose the actors that are meant. */
  tags: string[];
  /** One of these types chooses the actors that are meant. */
  types: string[];
  /** One of these ids chooses the actors that are meant. */
  ids: string[];
  /** The zone in which all of them stand at the same time. */
  allIn: string;
  /** The zone in which one of them stands for the first time. */
  eachIn: string;
  /** The items that one of them carries for the first time. */
  carry: ItemAmount[];
  /** The object that is in a state. */
  objectId: string;
  /** The state of the object. */
  state: string;
  /** The tick that has come. */
  tickId: number;
}

/** The items on the ground as columns, packed like ObservationColumns. */
export interface GroundColumns {
  /** The int32 places from the west. */
  x: Uint8Array;
  /** The int32 places from the north. */
  y: Uint8Array;
  /** The uint16 codes of the items' kinds. */
  kind: Uint8Array;
  /** The int64 numbers of items. */
  amount: Uint8Array;
}

/** Items of one kind that lie on a tile at the beginning. */
export interface GroundInfo {
  /** The tile's place from the west. */
  x: number;
  /** The tile's place from the north. */
  y: number;
  /** The kind of item. */
  item: string;
  /** How many they are. */
  amount: number;
}

/** An actor within hearing spoke. */
export interface Heard {
  /** Who spoke. */
  speakerId: string;
  /** Who could hear it. */
  channel: string;
  /** What was said. */
  text: string;
  /** The speaker's place from the west. */
  x: number;
  /** The speaker's place from the north. */
  y: number;
}

/** Two minutes of the day; the second is not in it, and may be on the next day. */
export interface Hours {
  /** The first minute. */
  first: number;
  /** The minute after the last. */
  end: number;
}

/** What an agent shows of a mind: its behaviour tree and the nodes that ran, its Blackboard and its memories. A whole insight stands by itself; any other one holds what is new since the one before it. */
export interface Insight {
  /** The entity in the world. */
  entityId: string;
  /** The world's tick in which it was so. */
  tickId: number;
  /** Whether it replaces everything reported before. */
  whole: boolean;
  /** The nodes of the tree, each before those below it; only in a whole insight, and empty if there is no tree. */
  tree: TreeLine[];
  /** For each node of the tree 0 (it did not run), 1 (success), 2 (failure) or 3 (it goes on); not set if nothing changed. */
  nodeStatuses?: Uint8Array;
  /** What is new on the Blackboard. */
  board: BoardEntry[];
  /** The keys that are gone from the Blackboard. */
  goneKeys: string[];
  /** What is new among the last memories, the newest last. */
  memories: MemoryNote[];
}

/** What an actor asks for in one tick. */
export interface Intent {
  /** Do nothing. */
  wait?: Wait;
  /** Go one tile. */
  move?: Move;
  /** Take items. */
  pickup?: Pickup;
  /** Use up items. */
  use?: Use;
  /** Speak. */
  say?: Say;
  /** Work on an object. */
  interact?: Interact;
  /** Lay items down. */
  drop?: Drop;
  /** Hand items over. */
  give?: Give;
  /** Fall asleep. */
  sleep?: Sleep;
  /** Wake up. */
  wake?: Wake;
  /** Put items into a container. */
  put?: Exchange;
  /** Take items out of a container. */
  take?: Exchange;
  /** Take items out of a container, and put their price into it. */
  buy?: Exchange;
  /** Put items into a container, and take their price out of it. */
  sell?: Exchange;
  /** Offer items to an actor. */
  offer?: Offer;
  /** Accept an offer. */
  accept?: Accept;
  /** Decline an offer, or take it back. */
  decline?: Decline;
  /** Build an object. */
  build?: Build;
}

/** Work on an object on this tile or one beside it. */
export interface Interact {
  /** The object. */
  targetId: string;
  /** What to do with it; the first action that it offers if it is empty. */
  verb: string;
}

/** A number of items of one kind. */
export interface ItemAmount {
  /** The kind of item. */
  item: string;
  /** How many they are. */
  amount: number;
}

/** A kind of item. */
export interface ItemInfo {
  /** The name of the kind. */
  name: string;
  /** What using one adds to needs; if there is nothing, it can't be used. */
  use: NeedChange[];
  /** In each tick one of so many decays, on average; 0 if none does. */
  lasts: number;
  /** What is there instead of one that has decayed, in ascending order of items. */
  becomes: ItemAmount[];
}

/** Some items of one kind. */
export interface ItemStack {
  /** The kind of item. */
  kind: string;
  /** How many there are. */
  quantity: number;
  /** The item itself, in worlds with unique items. */
  itemId: string;
}

/** Nothing but a sign of life. */
export interface KeepAlive {
}

/** A kind of object. */
export interface KindInfo {
  /** The name of the kind. */
  name: string;
  /** Its states, in the order of their codes. */
  states: StateInfo[];
  /** What else is known of it. */
  tags: string[];
  /** What can be picked up there as long as there is stock. */
  stockItem: string;
  /** What it holds, buys and sells, if it is a container. */
  container?: ContainerInfo;
  /** What building one takes, if it can be built. */
  build?: ActionInfo;
  /** How many more than at the beginning there can be. */
  mostBuilt: number;
  /** The number of its tiles from west to east; one if it is 0. */
  width: number;
  /** The number of its tiles from north to south; one if it is 0. */
  height: number;
  /** In how many ticks what is left of its stock doubles; 0 if it grows one by one, or not at all. */
  doublingTicks: number;
}

/** Exclusive control of an entity for a short time. */
export interface Lease {
  /** The secret; a client that knows it has control. */
  leaseId: string;
  /** The entity. */
  entityId: string;
  /** The controller's name for itself. */
  controllerId: string;
  /** Of two leases of an entity the one with the greater epoch is the newer. */
  epoch: number;
  /** How long it lasts from now unless it is renewed. */
  ttlMs: number;
}

/** An entity went out of sight. */
export interface Left {
  /** The entity. */
  entityId: string;
  /** Where it was last seen, from the west. */
  x: number;
  /** Where it was last seen, from the north. */
  y: number;
}

/** Something that happened to an actor as a whole. */
export interface LifecycleEvent {
  /** The tick in which it happened. */
  tickId: number;
  /** What happened. */
  kind: LifecycleKind;
  /** The actor. */
  entity?: EntityInfo;
}

/** Which actors to list. */
export interface ListControllableEntitiesRequest {
  /** Only those without a controller. */
  uncontrolledOnly: boolean;
  /** How many to send at most; the server's own limit if it is 0. */
  pageSize: number;
  /** The last id of the page before; empty for the first page. */
  afterEntityId: string;
}

/** A page of actors. */
export interface ListControllableEntitiesResponse {
  /** The actors. */
  entities: EntityInfo[];
  /** Whether there are more after the last one. */
  more: boolean;
}

/** One thing that a character remembers. */
export interface MemoryNote {
  /** The tick that it is of. */
  tickId: number;
  /** What is remembered. */
  text: string;
  /** The entity that it is about, if any. */
  about: string;
  /** How much it counts, from 0 to 1. */
  importance: number;
  /** The kind of experience, such as "heard". */
  kind: string;
  /** The speaker from whom it was heard, if any. */
  toldBy: string;
  /** How often it was experienced. */
  times: number;
  /** Its number in that memory; 0 if it is not known. */
  number: number;
  /** The numbers of other notes that it follows from, if any. */
  evidence: number[];
}

/** Go one tile. */
export interface Move {
  /** The way to go. */
  direction: Direction;
}

/** An entity in sight went to another tile. */
export interface Moved {
  /** The entity. */
  entityId: string;
  /** Its new place from the west. */
  x: number;
  /** Its new place from the north. */
  y: number;
  /** The way it went. */
  direction: Direction;
}

/** What is added to a need. */
export interface NeedChange {
  /** The need: "energy", "hunger", or one of the world's own. */
  need: string;
  /** What is added to it. */
  by: number;
}

/** The needs of some actors as columns, packed like ObservationColumns. */
export interface NeedColumns {
  /** The int32 rows of the actors, ascending, none twice. */
  actor: Uint8Array;
  /** The int16 energies, from 0 to 1000. */
  energy: Uint8Array;
  /** The int16 hungers, from 0 to 1000. */
  hunger: Uint8Array;
  /** The int16 values of the world's own needs, n times their number, each from 0 to 1000. */
  own: Uint8Array;
}

/** One of the world's own needs. */
export interface NeedValue {
  /** The name of the need. */
  name: string;
  /** Its value, from 0 to 1000. */
  value: number;
}

/** The state of some objects as columns, packed like ObservationColumns. */
export interface ObjectColumns {
  /** The int32 rows of the objects, ascending, none twice. */
  objectRow: Uint8Array;
  /** The uint8 codes of their states. */
  state: Uint8Array;
  /** The int32 numbers of ticks of work that are left. */
  work: Uint8Array;
  /** The int32 numbers of items in them. */
  stock: Uint8Array;
  /** The int32 places of them from the west, -1 of those that are not there; nothing if no object comes or goes. */
  x: Uint8Array;
  /** The int32 places of them from the north, likewise. */
  y: Uint8Array;
}

/** A field of an object that has a new value. */
export interface ObjectDelta {
  /** The object. */
  objectId: string;
  /** The field: "state", "work_remaining", "stock", or a kind of item on the ground. */
  field: string;
  /** A number. */
  number?: number;
  /** A word. */
  word?: string;
}

/** An object as it stands at the beginning. */
export interface ObjectInfo {
  /** Its name in the world. */
  objectId: string;
  /** What it is. */
  kind: string;
  /** Its north-west tile's place from the west; -1 of one that may be built later. */
  x: number;
  /** Its north-west tile's place from the north; -1 of one that may be built later. */
  y: number;
  /** The state that it is in. */
  state: string;
  /** How many items can be picked up there. */
  stock: number;
  /** The actor that it belongs to, if any. */
  owner: string;
}

/** All that one actor perceives at the start of a tick. */
export interface Observation {
  /** The tick that begins. */
  tickId: number;
  /** The time that is left for an intent. */
  deadlineMs: number;
  /** The observer itself. */
  me?: SelfState;
  /** What it sees of the map. */
  visibleTiles?: VisibleTiles;
  /** The other actors in sight. */
  visibleEntities: VisibleEntity[];
  /** The objects in sight. */
  visibleObjects: VisibleObject[];
  /** What happened since the last observation. */
  events: Event[];
  /** What became of the observer's own last intent, if it had one. */
  result?: ActionResult;
  /** When the tick began, by the server's clock, in milliseconds since 1970; 0 where it is not known. */
  tickStartServerTimeMs: number;
  /** Until when intents for it count, by the same clock. An observation that is read later than that is stale. */
  intentDeadlineServerTimeMs: number;
  /** The offers to the observer that stand. */
  offers: OpenOffer[];
}

/** Offer items to an actor on a tile beside this one. */
export interface Offer {
  /** The actor that may accept it. */
  targetId: string;
  /** The kind of item. */
  kind: string;
  /** How many, at least one; one if it is left out. */
  amount?: number;
  /** The kind of item that is wanted for them; nothing if it is empty. */
  wantedKind: string;
  /** How many are wanted, at least one; one if it is left out. */
  wantedAmount?: number;
}

/** Items that another actor offers, and what it wants for them. */
export interface OpenOffer {
  /** The actor that made the offer. */
  actorId: string;
  /** The kind of item that it offers. */
  kind: string;
  /** How many it offers. */
  amount: number;
  /** The kind of item that it wants for them; nothing if it is empty. */
  wantedKind: string;
  /** How many it wants. */
  wantedAmount: number;
}

/** Who an actor is: for its mind, and for those who watch. */
export interface Persona {
  /** The name that people use. */
  name: string;
  /** The age in years; 0 if it is not known. */
  age: number;
  /** Words for the character. */
  traits: string[];
  /** What happened before. */
  backstory: string;
  /** How it speaks. */
  voice: string;
  /** What it wants. */
  goals: string[];
  /** What it is afraid of. */
  fears: string[];
  /** What it knows at the beginning. */
  knows: string[];
  /** The zone that it lives in. */
  home: string;
  /** The zone that it works in. */
  work: string;
  /** What others are to it. */
  relations: Relation[];
  /** What it does at which time. */
  habits: string[];
  /** The colour in a viewer, as #rrggbb. */
  colour: string;
  /** The team that it belongs to. */
  team: string;
  /** Settings for the program that controls it. */
  agent: AgentSetting[];
  /** What a viewer draws for it: a letter or an emoji; empty for a small person. */
  sprite: string;
  /** What it tells none but close friends. */
  secret: string;
}

/** Take items from the tile that the actor stands on. */
export interface Pickup {
  /** The kind of item. */
  kind: string;
  /** How many to take, at least one; one if it is left out. */
  amount?: number;
  /** The item itself, in worlds with unique items. */
  itemId: string;
}

/** What one item costs. */
export interface Price {
  /** The kind of item. */
  item: string;
  /** What one of them costs, in ascending order of items. */
  price: ItemAmount[];
}

/** A rectangle of tiles, its edges included. */
export interface Region {
  /** The westernmost tiles. */
  minX: number;
  /** The northernmost tiles. */
  minY: number;
  /** The easternmost tiles. */
  maxX: number;
  /** The southernmost tiles. */
  maxY: number;
}

/** What another actor is to a person. */
export interface Relation {
  /** The other actor. */
  entityId: string;
  /** What it is to this one. */
  relation: string;
}

/** Gives up control at once; the server then ends the stream. */
export interface Release {
}

/** Insights of entities that one lease stands for, and the right to report them. */
export interface ReportInsightsRequest {
  /** The secret of the lease. */
  leaseId: string;
  /** The insights, at least one. */
  insights: Insight[];
}

/** A status, and the right to report for its entity. */
export interface ReportStatusRequest {
  /** The secret of the lease. */
  leaseId: string;
  /** The status. */
  status?: AgentStatus;
}

/** A deliberation, and the right to report for its entity. */
export interface ReportThoughtRequest {
  /** The secret of the lease. */
  leaseId: string;
  /** The deliberation. */
  report?: ThoughtReport;
}

/** What became of some intents as columns, packed like ObservationColumns. */
export interface ResultColumns {
  /** The int32 rows of the actors, ascending, none twice. */
  actor: Uint8Array;
  /** The uint8 codes of the actions. */
  action: Uint8Array;
  /** The uint8 codes of the reasons, 0 where all went well. */
  reason: Uint8Array;
  /** The few results that have a target or effects. */
  details: ResultDetail[];
}

/** What else is known of one result. */
export interface ResultDetail {
  /** Its place in the columns; places ascend. */
  place: number;
  /** On what or whom it was, if on anything. */
  targetId: string;
  /** What it changed. */
  effects: Effect[];
}

/** A goal that was reached, or something that a rule of the user's own did. */
export interface RuleEvent {
  /** The goal or the rule. */
  name: string;
  /** The first of the actors that reached it; none if it is about the world as a whole. */
  actorIds: string[];
  /** The score of each of them, or of the world. */
  score: number;
  /** Whether the run ends with it. */
  ends: boolean;
  /** Whether it is of a rule of the user's own, not a goal. */
  own: boolean;
  /** The reason in words. */
  text: string;
  /** What it changed about each of these actors. */
  effects: Effect[];
}

/** Speak to everybody within hearing. */
export interface Say {
  /** What is said. */
  text: string;
  /** Who can hear it; "local" if it is left out. */
  channel?: string;
}

/** A season of the year. */
export interface SeasonInfo {
  /** The name of the season. */
  name: string;
  /** The number of days. */
  days: number;
  /** The kinds of weather, if they differ from those of the calendar. */
  weather: WeatherWeight[];
}

/** The observer's own state. */
export interface SelfState {
  /** The observer. */
  entityId: string;
  /** Its tile's place from the west. */
  x: number;
  /** Its tile's place from the north. */
  y: number;
  /** The bits 1 (asleep), 2 (incapacitated) and 4 (uncontrolled). */
  statusBits: number;
  /** The way it looks. */
  facing: Direction;
  /** What it carries. */
  inventory: ItemStack[];
  /** How fresh it is, from 0 to 1000. */
  energy: number;
  /** How hungry it is, from 0 to 1000. */
  hunger: number;
  /** The world's own needs. */
  needs: NeedValue[];
}

/** Fall asleep until an intent to wake up. */
export interface Sleep {
}

/** What went wrong, and whether the connection goes on. */
export interface SocketError {
  /** What it was. */
  code: SocketErrorCode;
  /** The same for people, with what to do. */
  message: string;
  /** After how long another try may work, if that is known. */
  retryAfterMs: number;
  /** Whether the connection ends with it. */
  ends: boolean;
}

/** One frame up. */
export interface SocketRequest {
  /** Controls one entity; the first of these frames is its open. The connection ends with the control. */
  control?: ControlRequest;
  /** Asks for what happens after each tick, once for a connection, which ends with it. */
  watch?: StreamViewerEventsRequest;
  /** Asks for a page of the actors, or of those without a controller. */
  describe?: ListControllableEntitiesRequest;
  /** Reports how an agent is doing and what it thinks. */
  telemetry?: TelemetryReport;
  /** Asks for the world as it is after the last tick on record. */
  snapshot?: GetViewerSnapshotRequest;
  /** Asks for all that never changes in a run; the answer comes in parts. */
  world?: StreamWorldRequest;
  /** The caller's token of the world, in the first frame and no other, for clients that can't set headers. */
  token: string;
  /** A number that the answer to a question has too; 0 for none. */
  requestId: number;
}

/** One frame down. */
export interface SocketResponse {
  /** The control of the entity. */
  control?: ControlResponse;
  /** What happened in one tick. */
  watch?: StreamViewerEventsResponse;
  /** A page of actors. */
  describe?: ListControllableEntitiesResponse;
  /** Whether a report was taken. */
  telemetry?: TelemetryAnswer;
  /** The world after a tick. */
  snapshot?: GetViewerSnapshotResponse;
  /** A part of all that never changes. */
  world?: WorldPart;
  /** What went wrong. */
  error?: SocketError;
  /** The number of the question that it answers; 0 for none. */
  requestId: number;
}

/** One state of a kind of object. */
export interface StateInfo {
  /** The name of the state. */
  name: string;
  /** Whether one can step there. */
  walkable: boolean;
  /** Whether it blocks sight. */
  opaque: boolean;
  /** What can be done with it in this state. */
  actions: ActionInfo[];
  /** What it adds in each tick to the needs of actors on its tile and beside it. */
  eachTick: NeedChange[];
}

/** What to show. */
export interface StreamViewerEventsRequest {
  /** The filter. */
  filter?: ViewFilter;
}

/** What happened in one tick. */
export interface StreamViewerEventsResponse {
  /** The event. */
  event?: ViewerEvent;
}

/** A question that needs no details. */
export interface StreamWorldRequest {
}

/** A part of what never changes. The first part holds the header and nothing else. */
export interface StreamWorldResponse {
  /** The header, in the first part only. */
  header?: WorldHeader;
  /** The next floor codes, row by row from the north-west corner. */
  floorCodes: Uint8Array;
  /** The next objects, in the order of their rows. */
  objects: ObjectInfo[];
  /** The next actors, in the order of their rows. */
  actors: EntityInfo[];
  /** The next heaps on the ground, in the order of their tiles. */
  ground: GroundInfo[];
}

/** Whether a report was taken. */
export interface TelemetryAnswer {
  /** The acknowledgement. */
  ack?: Ack;
}

/** What an agent reports. Where the lease is left out, it is the one of this connection's control. */
export interface TelemetryReport {
  /** A deliberation. */
  thought?: ReportThoughtRequest;
  /** How the agent is doing. */
  status?: ReportStatusRequest;
  /** What it shows of its mind. */
  insights?: ReportInsightsRequest;
}

/** One deliberation, as it is recorded and shown. */
export interface Thought {
  /** The number of the entity in the agent's own engine. */
  engineEntityId: number;
  /** The engine's tick in which the question was asked. */
  askedTick: number;
  /** The engine's tick in which the answer was there. */
  answeredTick: number;
  /** The system prompt of the model. */
  systemPrompt: string;
  /** What the model was asked. */
  userMessage: string;
  /** What it answered. */
  reply: string;
  /** What it thought before it answered. */
  thinking: string;
  /** The Blackboard keys that changed and their new values, as a JSON object; nothing if it is empty. */
  directivesJson: string;
  /** The name of the client that made the call. */
  client: string;
  /** The name of the model. */
  model: string;
  /** The tokens of the prompt, if they are known. */
  promptTokens?: number;
  /** The tokens of the reply, if they are known. */
  completionTokens?: number;
  /** The seconds until the reply was complete. */
  latencyS: number;
  /** The price in US dollars, if it is known. */
  costUsd?: number;
  /** The kind of failure; empty if all went well. */
  errorType: string;
  /** What failed, in words. */
  error: string;
  /** Who answered behind a gateway, if it said so. */
  provider: string;
  /** The attempts at providers. */
  attempts: number;
  /** The seconds in a gateway's queue, if there was one. */
  queuedS?: number;
  /** The reply took more ticks than the world's rule gives a thought. */
  late: boolean;
  /** The faculty that asked, such as "reflect"; empty if it asked for a plan. */
  kind: string;
  /** The tokens of the prompt that the endpoint had read before, if they are known. */
  cachedTokens?: number;
}

/** A thought, and whose it was. */
export interface ThoughtReport {
  /** The entity in the world. */
  entityId: string;
  /** The world's tick in which the report was made. */
  tickId: number;
  /** The deliberation. */
  thought?: Thought;
}

/** One node of a behaviour tree. */
export interface TreeLine {
  /** How many nodes are above it. */
  depth: number;
  /** What it is, in a few words. */
  text: string;
}

/** Use up items from the inventory. */
export interface Use {
  /** The kind of item. */
  kind: string;
  /** How many to use, at least one; one if it is left out. */
  amount?: number;
  /** The item itself, in worlds with unique items. */
  itemId: string;
}

/** Something that was said, and where. */
export interface Utterance {
  /** Who spoke. */
  actorId: string;
  /** Who could hear it. */
  channel: string;
  /** What was said. */
  text: string;
  /** The speaker's place from the west. */
  x: number;
  /** The speaker's place from the north. */
  y: number;
}

/** What to show. Each list that is not empty narrows it down; an empty filter shows all. */
export interface ViewFilter {
  /** Only what these actors do. */
  actorIds: string[];
  /** Only what happens in one of these places. */
  regions: Region[];
  /** Only these types. */
  types: ViewerEventType[];
}

/** What happened in one tick, as far as the filter lets it through. It is taken from results, never from intents. */
export interface ViewerEvent {
  /** The tick. */
  tickId: number;
  /** The time in the world. */
  simTimeMs: number;
  /** The actors whose state is new. */
  actors?: ActorColumns;
  /** What became of intents. */
  results?: ResultColumns;
  /** What was said. */
  utterances: Utterance[];
  /** What changed about objects. */
  objectDeltas: ObjectDelta[];
  /** Who came, went, was taken or given up. */
  lifecycle: LifecycleEvent[];
  /** What agents thought. */
  thoughts: ThoughtReport[];
  /** How agents are doing. */
  statuses: AgentStatus[];
  /** What agents showed of minds. */
  insights: Insight[];
  /** The needs that changed noticeably; all of them now and then. */
  needs?: NeedColumns;
  /** The goals that were reached, and what rules of the user's own did. */
  ruleEvents: RuleEvent[];
}

/** The world after a tick, as far as the filter lets it through. */
export interface ViewerSnapshot {
  /** The tick; 0 before the first one. */
  tickId: number;
  /** The time in the world. */
  simTimeMs: number;
  /** The actors. */
  actors?: ActorColumns;
  /** The objects. */
  objects?: ObjectColumns;
  /** What lies on the ground. */
  ground?: GroundColumns;
  /** The needs of the actors; nothing where the world has none. */
  needs?: NeedColumns;
  /** The run that the world is in: the same after a world went on, another after it began anew. Empty if it has no name. */
  runId: string;
}

/** Another actor in sight. */
export interface VisibleEntity {
  /** The actor. */
  entityId: string;
  /** Its tile's place from the west. */
  x: number;
  /** Its tile's place from the north. */
  y: number;
  /** What it is. */
  type: string;
  /** What else is known of it. */
  tags: string[];
  /** The bits 1 (asleep), 2 (incapacitated) and 4 (uncontrolled). */
  statusBits: number;
  /** The way it looks. */
  facing: Direction;
}

/** An object in sight, or what lies on the ground. */
export interface VisibleObject {
  /** The object. */
  objectId: string;
  /** What it is; "ground" for items that lie about. */
  kind: string;
  /** Its north-west tile's place from the west. */
  x: number;
  /** Its north-west tile's place from the north. */
  y: number;
  /** The state that it is in. */
  state: string;
  /** How much work is left until the state changes. */
  workRemaining: number;
  /** What can be picked up there. */
  items: ItemStack[];
  /** What can be done with it in this state. */
  verbs: string[];
  /** Its owner, if it is a container with one; others only buy and sell there. */
  owner: string;
  /** The number of its tiles from west to east; one if it is 0. */
  width: number;
  /** The number of its tiles from north to south; one if it is 0. */
  height: number;
}

/** The window of (2 * radius + 1) squared tiles around the observer, row by row from its north-west corner. The masks hold one bit for each tile, the lowest bit of the first byte first. */
export interface VisibleTiles {
  /** How far the window reaches in each direction. */
  radius: number;
  /** The observer's place from the west. */
  centreX: number;
  /** The observer's place from the north. */
  centreY: number;
  /** Which tiles are in sight. */
  visible: Uint8Array;
  /** Which tiles in sight can be stepped on. */
  walkable: Uint8Array;
  /** One floor code for each tile of the window, or nothing where it was not asked for. */
  floors: Uint8Array;
}

/** Do nothing for this tick. */
export interface Wait {
}

/** Wake up. */
export interface Wake {
}

/** A kind of weather. */
export interface WeatherWeight {
  /** The name of it. */
  weather: string;
  /** Its weight; its chance is its share of all weights. */
  weight: number;
}

/** What never changes in a run, apart from the long lists. */
export interface WorldHeader {
  /** The name of the world. */
  name: string;
  /** The version of its rules. */
  worldVersion: string;
  /** The number of tiles from west to east. */
  width: number;
  /** The number of tiles from north to south. */
  height: number;
  /** How far actors see. */
  sightRadius: number;
  /** How far actors hear. */
  hearingRadius: number;
  /** How long a tick takes. */
  tickDurationMs: number;
  /** How long after its start a tick takes intents. */
  intentDeadlineMs: number;
  /** The kinds of floor, in the order of their codes. */
  floors: FloorInfo[];
  /** The kinds of item, in the order of their codes. */
  itemKinds: string[];
  /** The verbs, in the order of their codes; the first one is empty and means whatever comes first. */
  verbs: string[];
  /** The kinds of object. */
  kinds: KindInfo[];
  /** The number of objects in all parts together. */
  objectCount: number;
  /** The number of actors in all parts together. */
  actorCount: number;
  /** The number of heaps on the ground in all parts together. */
  groundCount: number;
  /** The places and the calendar. */
  setting?: WorldSetting;
  /** The names of the world's own needs, in the order of their columns. */
  ownNeeds: string[];
  /** What using items does and how long they last, in the order of their codes; nothing where it is not known. */
  items: ItemInfo[];
  /** The goals. */
  goals: GoalInfo[];
}

/** A part of all that never changes in a run. */
export interface WorldPart {
  /** The part; parts are put together in their order. */
  part?: StreamWorldResponse;
  /** Whether it is the last one. */
  last: boolean;
}

/** The places and the calendar of a world. */
export interface WorldSetting {
  /** The zones. */
  zones: ZoneInfo[];
  /** The calendar. */
  calendar?: CalendarInfo;
}

/** A named place. */
export interface ZoneInfo {
  /** The name of the zone. */
  name: string;
  /** The tiles of it. */
  areas: Area[];
  /** The actor that it belongs to, if it does. */
  owner: string;
  /** What it is for. */
  purpose: string;
}

/** Message -> field -> how its JSON is read: a letter, or the name of its message; * before it is a list. */
export const FIELDS: Record<string, Record<string, string>> = {
  Accept: { targetId: "s" },
  Ack: { accepted: "f", reason: "eReason" },
  Acted: { result: "?ActionResult" },
  ActionInfo: { verb: "s", to: "s", work: "i", needs: "*ItemAmount", consumes: "*ItemAmount", yields: "*ItemAmount", hours: "?Hours", seasons: "*s", weather: "*s", wears: "*ItemAmount", removes: "f" },
  ActionResult: { actorId: "s", actionType: "eActionType", ok: "f", reason: "eReason", targetId: "s", effects: "*Effect" },
  ActorColumns: { actor: "b", x: "b", y: "b", statusBits: "b", facing: "b" },
  AgentSetting: { name: "s", text: "?s", whole: "?i", number: "?r", flag: "?f", texts: "?AgentSettingTexts" },
  AgentSettingTexts: { items: "*s" },
  AgentStatus: { entityId: "s", tickId: "i", state: "eAgentState", detail: "s", observations: "i", intents: "i", refused: "i", thoughts: "i", failedThoughts: "i", turns: "s", droppedReports: "i", program: "s" },
  Area: { west: "i", north: "i", east: "i", south: "i" },
  BoardEntry: { key: "s", valueJson: "s" },
  Build: { kind: "s", direction: "eDirection" },
  CalendarInfo: { dayTicks: "i", firstMinute: "i", seasons: "*SeasonInfo", weather: "*WeatherWeight", weatherKey: "i", festivals: "*FestivalInfo", night: "?Hours" },
  Closed: { reason: "eReason", retryAfterMs: "i" },
  ContainerInfo: { holds: "i", sells: "*Price", buys: "*Price", hours: "?Hours" },
  ControlAck: { tickId: "i", ack: "?Ack" },
  ControlIntent: { tickId: "i", intent: "?Intent" },
  ControlOpen: { entityId: "s", controllerId: "s", previousLeaseId: "s", wantFloors: "f", play: "f" },
  ControlOpened: { lease: "?Lease", runId: "s", mindSeed: "i", thinkingTicks: "i", setting: "?WorldSetting", persona: "?Persona", kinds: "*KindInfo", items: "*ItemInfo", floors: "*FloorInfo", goals: "*GoalInfo" },
  ControlRequest: { open: "?ControlOpen", intent: "?ControlIntent", keepAlive: "?KeepAlive", release: "?Release" },
  ControlResponse: { opened: "?ControlOpened", observation: "?Observation", ack: "?ControlAck", closed: "?Closed" },
  Decline: { targetId: "s" },
  Drop: { kind: "s", amount: "?i", itemId: "s" },
  Effect: { name: "s", value: "i" },
  Entered: { entityId: "s", x: "i", y: "i" },
  EntityInfo: { entityId: "s", type: "s", tags: "*s", spawnTick: "i", persona: "?Persona" },
  Event: { entered: "?Entered", left: "?Left", moved: "?Moved", acted: "?Acted", heard: "?Heard" },
  Exchange: { targetId: "s", kind: "s", amount: "?i" },
  FestivalInfo: { name: "s", day: "i", every: "i", hours: "?Hours", where: "s", purpose: "s" },
  FloorInfo: { name: "s", walkable: "f", opaque: "f", hazards: "*s", energy: "i", hunger: "i", stepTicks: "i", ownNeeds: "*NeedChange" },
  GetViewerSnapshotRequest: { filter: "?ViewFilter" },
  GetViewerSnapshotResponse: { snapshot: "?ViewerSnapshot" },
  Give: { targetId: "s", kind: "s", amount: "?i", itemId: "s" },
  GoalInfo: { name: "s", score: "i", ends: "f", tags: "*s", types: "*s", ids: "*s", allIn: "s", eachIn: "s", carry: "*ItemAmount", objectId: "s", state: "s", tickId: "i" },
  GroundColumns: { x: "b", y: "b", kind: "b", amount: "b" },
  GroundInfo: { x: "i", y: "i", item: "s", amount: "i" },
  Heard: { speakerId: "s", channel: "s", text: "s", x: "i", y: "i" },
  Hours: { first: "i", end: "i" },
  Insight: { entityId: "s", tickId: "i", whole: "f", tree: "*TreeLine", nodeStatuses: "?b", board: "*BoardEntry", goneKeys: "*s", memories: "*MemoryNote" },
  Intent: { wait: "?Wait", move: "?Move", pickup: "?Pickup", use: "?Use", say: "?Say", interact: "?Interact", drop: "?Drop", give: "?Give", sleep: "?Sleep", wake: "?Wake", put: "?Exchange", take: "?Exchange", buy: "?Exchange", sell: "?Exchange", offer: "?Offer", accept: "?Accept", decline: "?Decline", build: "?Build" },
  Interact: { targetId: "s", verb: "s" },
  ItemAmount: { item: "s", amount: "i" },
  ItemInfo: { name: "s", use: "*NeedChange", lasts: "i", becomes: "*ItemAmount" },
  ItemStack: { kind: "s", quantity: "i", itemId: "s" },
  KeepAlive: {},
  KindInfo: { name: "s", states: "*StateInfo", tags: "*s", stockItem: "s", container: "?ContainerInfo", build: "?ActionInfo", mostBuilt: "i", width: "i", height: "i", doublingTicks: "i" },
  Lease: { leaseId: "s", entityId: "s", controllerId: "s", epoch: "i", ttlMs: "i" },
  Left: { entityId: "s", x: "i", y: "i" },
  LifecycleEvent: { tickId: "i", kind: "eLifecycleKind", entity: "?EntityInfo" },
  ListControllableEntitiesRequest: { uncontrolledOnly: "f", pageSize: "i", afterEntityId: "s" },
  ListControllableEntitiesResponse: { entities: "*EntityInfo", more: "f" },
  MemoryNote: { tickId: "i", text: "s", about: "s", importance: "r", kind: "s", toldBy: "s", times: "i", number: "i", evidence: "*i" },
  Move: { direction: "eDirection" },
  Moved: { entityId: "s", x: "i", y: "i", direction: "eDirection" },
  NeedChange: { need: "s", by: "i" },
  NeedColumns: { actor: "b", energy: "b", hunger: "b", own: "b" },
  NeedValue: { name: "s", value: "i" },
  ObjectColumns: { objectRow: "b", state: "b", work: "b", stock: "b", x: "b", y: "b" },
  ObjectDelta: { objectId: "s", field: "s", number: "?i", word: "?s" },
  ObjectInfo: { objectId: "s", kind: "s", x: "i", y: "i", state: "s", stock: "i", owner: "s" },
  Observation: { tickId: "i", deadlineMs: "i", me: "?SelfState", visibleTiles: "?VisibleTiles", visibleEntities: "*VisibleEntity", visibleObjects: "*VisibleObject", events: "*Event", result: "?ActionResult", tickStartServerTimeMs: "i", intentDeadlineServerTimeMs: "i", offers: "*OpenOffer" },
  Offer: { targetId: "s", kind: "s", amount: "?i", wantedKind: "s", wantedAmount: "?i" },
  OpenOffer: { actorId: "s", kind: "s", amount: "i", wantedKind: "s", wantedAmount: "i" },
  Persona: { name: "s", age: "i", traits: "*s", backstory: "s", voice: "s", goals: "*s", fears: "*s", knows: "*s", home: "s", work: "s", relations: "*Relation", habits: "*s", colour: "s", team: "s", agent: "*AgentSetting", sprite: "s", secret: "s" },
  Pickup: { kind: "s", amount: "?i", itemId: "s" },
  Price: { item: "s", price: "*ItemAmount" },
  Region: { minX: "i", minY: "i", maxX: "i", maxY: "i" },
  Relation: { entityId: "s", relation: "s" },
  Release: {},
  ReportInsightsRequest: { leaseId: "s", insights: "*Insight" },
  ReportStatusRequest: { leaseId: "s", status: "?AgentStatus" },
  ReportThoughtRequest: { leaseId: "s", report: "?ThoughtReport" },
  ResultColumns: { actor: "b", action: "b", reason: "b", details: "*ResultDetail" },
  ResultDetail: { place: "i", targetId: "s", effects: "*Effect" },
  RuleEvent: { name: "s", actorIds: "*s", score: "i", ends: "f", own: "f", text: "s", effects: "*Effect" },
  Say: { text: "s", channel: "?s" },
  SeasonInfo: { name: "s", days: "i", weather: "*WeatherWeight" },
  SelfState: { entityId: "s", x: "i", y: "i", statusBits: "i", facing: "eDirection", inventory: "*ItemStack", energy: "i", hunger: "i", needs: "*NeedValue" },
  Sleep: {},
  SocketError: { code: "eSocketErrorCode", message: "s", retryAfterMs: "i", ends: "f" },
  SocketRequest: { control: "?ControlRequest", watch: "?StreamViewerEventsRequest", describe: "?ListControllableEntitiesRequest", telemetry: "?TelemetryReport", snapshot: "?GetViewerSnapshotRequest", world: "?StreamWorldRequest", token: "s", requestId: "i" },
  SocketResponse: { control: "?ControlResponse", watch: "?StreamViewerEventsResponse", describe: "?ListControllableEntitiesResponse", telemetry: "?TelemetryAnswer", snapshot: "?GetViewerSnapshotResponse", world: "?WorldPart", error: "?SocketError", requestId: "i" },
  StateInfo: { name: "s", walkable: "f", opaque: "f", actions: "*ActionInfo", eachTick: "*NeedChange" },
  StreamViewerEventsRequest: { filter: "?ViewFilter" },
  StreamViewerEventsResponse: { event: "?ViewerEvent" },
  StreamWorldRequest: {},
  StreamWorldResponse: { header: "?WorldHeader", floorCodes: "b", objects: "*ObjectInfo", actors: "*EntityInfo", ground: "*GroundInfo" },
  TelemetryAnswer: { ack: "?Ack" },
  TelemetryReport: { thought: "?ReportThoughtRequest", status: "?ReportStatusRequest", insights: "?ReportInsightsRequest" },
  Thought: { engineEntityId: "i", askedTick: "i", answeredTick: "i", systemPrompt: "s", userMessage: "s", reply: "s", thinking: "s", directivesJson: "s", client: "s", model: "s", promptTokens: "?i", completionTokens: "?i", latencyS: "r", costUsd: "?r", errorType: "s", error: "s", provider: "s", attempts: "i", queuedS: "?r", late: "f", kind: "s", cachedTokens: "?i" },
  ThoughtReport: { entityId: "s", tickId: "i", thought: "?Thought" },
  TreeLine: { depth: "i", text: "s" },
  Use: { kind: "s", amount: "?i", itemId: "s" },
  Utterance: { actorId: "s", channel: "s", text: "s", x: "i", y: "i" },
  ViewFilter: { actorIds: "*s", regions: "*Region", types: "*eViewerEventType" },
  ViewerEvent: { tickId: "i", simTimeMs: "i", actors: "?ActorColumns", results: "?ResultColumns", utterances: "*Utterance", objectDeltas: "*ObjectDelta", lifecycle: "*LifecycleEvent", thoughts: "*ThoughtReport", statuses: "*AgentStatus", insights: "*Insight", needs: "?NeedColumns", ruleEvents: "*RuleEvent" },
  ViewerSnapshot: { tickId: "i", simTimeMs: "i", actors: "?ActorColumns", objects: "?ObjectColumns", ground: "?GroundColumns", needs: "?NeedColumns", runId: "s" },
  VisibleEntity: { entityId: "s", x: "i", y: "i", type: "s", tags: "*s", statusBits: "i", facing: "eDirection" },
  VisibleObject: { objectId: "s", kind: "s", x: "i", y: "i", state: "s", workRemaining: "i", items: "*ItemStack", verbs: "*s", owner: "s", width: "i", height: "i" },
  VisibleTiles: { radius: "i", centreX: "i", centreY: "i", visible: "b", walkable: "b", floors: "b" },
  Wait: {},
  Wake: {},
  WeatherWeight: { weather: "s", weight: "i" },
  WorldHeader: { name: "s", worldVersion: "s", width: "i", height: "i", sightRadius: "i", hearingRadius: "i", tickDurationMs: "i", intentDeadlineMs: "i", floors: "*FloorInfo", itemKinds: "*s", verbs: "*s", kinds: "*KindInfo", objectCount: "i", actorCount: "i", groundCount: "i", setting: "?WorldSetting", ownNeeds: "*s", items: "*ItemInfo", goals: "*GoalInfo" },
  WorldPart: { part: "?StreamWorldResponse", last: "f" },
  WorldSetting: { zones: "*ZoneInfo", calendar: "?CalendarInfo" },
  ZoneInfo: { name: "s", areas: "*Area", owner: "s", purpose: "s" },
};

/** Enum -> its first value, which stands for one that is left out. */
export const FIRST_VALUES: Record<string, string> = {
  ActionType: "ACTION_TYPE_UNSPECIFIED",
  AgentState: "AGENT_STATE_UNSPECIFIED",
  Direction: "DIRECTION_UNSPECIFIED",
  LifecycleKind: "LIFECYCLE_KIND_UNSPECIFIED",
  Reason: "REASON_UNSPECIFIED",
  SocketErrorCode: "SOCKET_ERROR_CODE_UNSPECIFIED",
  ViewerEventType: "VIEWER_EVENT_TYPE_UNSPECIFIED",
};
