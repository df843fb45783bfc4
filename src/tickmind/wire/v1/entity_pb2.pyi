from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LifecycleKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LIFECYCLE_KIND_UNSPECIFIED: _ClassVar[LifecycleKind]
    LIFECYCLE_KIND_SPAWNED: _ClassVar[LifecycleKind]
    LIFECYCLE_KIND_DESPAWNED: _ClassVar[LifecycleKind]
    LIFECYCLE_KIND_CONTROLLED: _ClassVar[LifecycleKind]
    LIFECYCLE_KIND_UNCONTROLLED: _ClassVar[LifecycleKind]
    LIFECYCLE_KIND_PLAYED: _ClassVar[LifecycleKind]
    LIFECYCLE_KIND_UNPLAYED: _ClassVar[LifecycleKind]
LIFECYCLE_KIND_UNSPECIFIED: LifecycleKind
LIFECYCLE_KIND_SPAWNED: LifecycleKind
LIFECYCLE_KIND_DESPAWNED: LifecycleKind
LIFECYCLE_KIND_CONTROLLED: LifecycleKind
LIFECYCLE_KIND_UNCONTROLLED: LifecycleKind
LIFECYCLE_KIND_PLAYED: LifecycleKind
LIFECYCLE_KIND_UNPLAYED: LifecycleKind

class EntityInfo(_message.Message):
    __slots__ = ("entity_id", "type", "tags", "spawn_tick", "persona")
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    SPAWN_TICK_FIELD_NUMBER: _ClassVar[int]
    PERSONA_FIELD_NUMBER: _ClassVar[int]
    entity_id: str
    type: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    spawn_tick: int
    persona: Persona
    def __init__(self, entity_id: _Optional[str] = ..., type: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., spawn_tick: _Optional[int] = ..., persona: _Optional[_Union[Persona, _Mapping]] = ...) -> None: ...

class Relation(_message.Message):
    __slots__ = ("entity_id", "relation")
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    entity_id: str
    relation: str
    def __init__(self, entity_id: _Optional[str] = ..., relation: _Optional[str] = ...) -> None: ...

class Persona(_message.Message):
    __slots__ = ("name", "age", "traits", "backstory", "voice", "goals", "fears", "knows", "home", "work", "relations", "habits", "colour", "team", "agent", "sprite", "secret")
    NAME_FIELD_NUMBER: _ClassVar[int]
    AGE_FIELD_NUMBER: _ClassVar[int]
    TRAITS_FIELD_NUMBER: _ClassVar[int]
    BACKSTORY_FIELD_NUMBER: _ClassVar[int]
    VOICE_FIELD_NUMBER: _ClassVar[int]
    GOALS_FIELD_NUMBER: _ClassVar[int]
    FEARS_FIELD_NUMBER: _ClassVar[int]
    KNOWS_FIELD_NUMBER: _ClassVar[int]
    HOME_FIELD_NUMBER: _ClassVar[int]
    WORK_FIELD_NUMBER: _ClassVar[int]
    RELATIONS_FIELD_NUMBER: _ClassVar[int]
    HABITS_FIELD_NUMBER: _ClassVar[int]
    COLOUR_FIELD_NUMBER: _ClassVar[int]
    TEAM_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    SPRITE_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    name: str
    age: int
    traits: _containers.RepeatedScalarFieldContainer[str]
    backstory: str
    voice: str
    goals: _containers.RepeatedScalarFieldContainer[str]
    fears: _containers.RepeatedScalarFieldContainer[str]
    knows: _containers.RepeatedScalarFieldContainer[str]
    home: str
    work: str
    relations: _containers.RepeatedCompositeFieldContainer[Relation]
    habits: _containers.RepeatedScalarFieldContainer[str]
    colour: str
    team: str
    agent: _containers.RepeatedCompositeFieldContainer[AgentSetting]
    sprite: str
    secret: str
    def __init__(self, name: _Optional[str] = ..., age: _Optional[int] = ..., traits: _Optional[_Iterable[str]] = ..., backstory: _Optional[str] = ..., voice: _Optional[str] = ..., goals: _Optional[_Iterable[str]] = ..., fears: _Optional[_Iterable[str]] = ..., knows: _Optional[_Iterable[str]] = ..., home: _Optional[str] = ..., work: _Optional[str] = ..., relations: _Optional[_Iterable[_Union[Relation, _Mapping]]] = ..., habits: _Optional[_Iterable[str]] = ..., colour: _Optional[str] = ..., team: _Optional[str] = ..., agent: _Optional[_Iterable[_Union[AgentSetting, _Mapping]]] = ..., sprite: _Optional[str] = ..., secret: _Optional[str] = ...) -> None: ...

class AgentSetting(_message.Message):
    __slots__ = ("name", "text", "whole", "number", "flag", "texts")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    FLAG_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    text: str
    whole: int
    number: float
    flag: bool
    texts: AgentSettingTexts
    def __init__(self, name: _Optional[str] = ..., text: _Optional[str] = ..., whole: _Optional[int] = ..., number: _Optional[float] = ..., flag: _Optional[bool] = ..., texts: _Optional[_Union[AgentSettingTexts, _Mapping]] = ...) -> None: ...

class AgentSettingTexts(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, items: _Optional[_Iterable[str]] = ...) -> None: ...

class Area(_message.Message):
    __slots__ = ("west", "north", "east", "south")
    WEST_FIELD_NUMBER: _ClassVar[int]
    NORTH_FIELD_NUMBER: _ClassVar[int]
    EAST_FIELD_NUMBER: _ClassVar[int]
    SOUTH_FIELD_NUMBER: _ClassVar[int]
    west: int
    north: int
    east: int
    south: int
    def __init__(self, west: _Optional[int] = ..., north: _Optional[int] = ..., east: _Optional[int] = ..., south: _Optional[int] = ...) -> None: ...

class ZoneInfo(_message.Message):
    __slots__ = ("name", "areas", "owner", "purpose")
    NAME_FIELD_NUMBER: _ClassVar[int]
    AREAS_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    name: str
    areas: _containers.RepeatedCompositeFieldContainer[Area]
    owner: str
    purpose: str
    def __init__(self, name: _Optional[str] = ..., areas: _Optional[_Iterable[_Union[Area, _Mapping]]] = ..., owner: _Optional[str] = ..., purpose: _Optional[str] = ...) -> None: ...

class CalendarInfo(_message.Message):
    __slots__ = ("day_ticks", "first_minute", "seasons", "weather", "weather_key", "festivals", "night")
    DAY_TICKS_FIELD_NUMBER: _ClassVar[int]
    FIRST_MINUTE_FIELD_NUMBER: _ClassVar[int]
    SEASONS_FIELD_NUMBER: _ClassVar[int]
    WEATHER_FIELD_NUMBER: _ClassVar[int]
    WEATHER_KEY_FIELD_NUMBER: _ClassVar[int]
    FESTIVALS_FIELD_NUMBER: _ClassVar[int]
    NIGHT_FIELD_NUMBER: _ClassVar[int]
    day_ticks: int
    first_minute: int
    seasons: _containers.RepeatedCompositeFieldContainer[SeasonInfo]
    weather: _containers.RepeatedCompositeFieldContainer[WeatherWeight]
    weather_key: int
    festivals: _containers.RepeatedCompositeFieldContainer[FestivalInfo]
    night: Hours
    def __init__(self, day_ticks: _Optional[int] = ..., first_minute: _Optional[int] = ..., seasons: _Optional[_Iterable[_Union[SeasonInfo, _Mapping]]] = ..., weather: _Optional[_Iterable[_Union[WeatherWeight, _Mapping]]] = ..., weather_key: _Optional[int] = ..., festivals: _Optional[_Iterable[_Union[FestivalInfo, _Mapping]]] = ..., night: _Optional[_Union[Hours, _Mapping]] = ...) -> None: ...

class SeasonInfo(_message.Message):
    __slots__ = ("name", "days", "weather")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DAYS_FIELD_NUMBER: _ClassVar[int]
    WEATHER_FIELD_NUMBER: _ClassVar[int]
    name: str
    days: int
    weather: _containers.RepeatedCompositeFieldContainer[WeatherWeight]
    def __init__(self, name: _Optional[str] = ..., days: _Optional[int] = ..., weather: _Optional[_Iterable[_Union[WeatherWeight, _Mapping]]] = ...) -> None: ...

class WeatherWeight(_message.Message):
    __slots__ = ("weather", "weight")
    WEATHER_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    weather: str
    weight: int
    def __init__(self, weather: _Optional[str] = ..., weight: _Optional[int] = ...) -> None: ...

class FestivalInfo(_message.Message):
    __slots__ = ("name", "day", "every", "hours", "where", "purpose")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DAY_FIELD_NUMBER: _ClassVar[int]
    EVERY_FIELD_NUMBER: _ClassVar[int]
    HOURS_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    name: str
    day: int
    every: int
    hours: Hours
    where: str
    purpose: str
    def __init__(self, name: _Optional[str] = ..., day: _Optional[int] = ..., every: _Optional[int] = ..., hours: _Optional[_Union[Hours, _Mapping]] = ..., where: _Optional[str] = ..., purpose: _Optional[str] = ...) -> None: ...

class WorldSetting(_message.Message):
    __slots__ = ("zones", "calendar")
    ZONES_FIELD_NUMBER: _ClassVar[int]
    CALENDAR_FIELD_NUMBER: _ClassVar[int]
    zones: _containers.RepeatedCompositeFieldContainer[ZoneInfo]
    calendar: CalendarInfo
    def __init__(self, zones: _Optional[_Iterable[_Union[ZoneInfo, _Mapping]]] = ..., calendar: _Optional[_Union[CalendarInfo, _Mapping]] = ...) -> None: ...

class LifecycleEvent(_message.Message):
    __slots__ = ("tick_id", "kind", "entity")
    TICK_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    tick_id: int
    kind: LifecycleKind
    entity: EntityInfo
    def __init__(self, tick_id: _Optional[int] = ..., kind: _Optional[_Union[LifecycleKind, str]] = ..., entity: _Optional[_Union[EntityInfo, _Mapping]] = ...) -> None: ...

class ObjectInfo(_message.Message):
    __slots__ = ("object_id", "kind", "x", "y", "state", "stock", "owner")
    OBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STOCK_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    object_id: str
    kind: str
    x: int
    y: int
    state: str
    stock: int
    owner: str
    def __init__(self, object_id: _Optional[str] = ..., kind: _Optional[str] = ..., x: _Optional[int] = ..., y: _Optional[int] = ..., state: _Optional[str] = ..., stock: _Optional[int] = ..., owner: _Optional[str] = ...) -> None: ...

class GroundInfo(_message.Message):
    __slots__ = ("x", "y", "item", "amount")
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    x: int
    y: int
    item: str
    amount: int
    def __init__(self, x: _Optional[int] = ..., y: _Optional[int] = ..., item: _Optional[str] = ..., amount: _Optional[int] = ...) -> None: ...

class ItemAmount(_message.Message):
    __slots__ = ("item", "amount")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    item: str
    amount: int
    def __init__(self, item: _Optional[str] = ..., amount: _Optional[int] = ...) -> None: ...

class Hours(_message.Message):
    __slots__ = ("first", "end")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    first: int
    end: int
    def __init__(self, first: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class NeedChange(_message.Message):
    __slots__ = ("need", "by")
    NEED_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    need: str
    by: int
    def __init__(self, need: _Optional[str] = ..., by: _Optional[int] = ...) -> None: ...

class ItemInfo(_message.Message):
    __slots__ = ("name", "use", "lasts", "becomes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    USE_FIELD_NUMBER: _ClassVar[int]
    LASTS_FIELD_NUMBER: _ClassVar[int]
    BECOMES_FIELD_NUMBER: _ClassVar[int]
    name: str
    use: _containers.RepeatedCompositeFieldContainer[NeedChange]
    lasts: int
    becomes: _containers.RepeatedCompositeFieldContainer[ItemAmount]
    def __init__(self, name: _Optional[str] = ..., use: _Optional[_Iterable[_Union[NeedChange, _Mapping]]] = ..., lasts: _Optional[int] = ..., becomes: _Optional[_Iterable[_Union[ItemAmount, _Mapping]]] = ...) -> None: ...

class ActionInfo(_message.Message):
    __slots__ = ("verb", "to", "work", "needs", "consumes", "yields", "hours", "seasons", "weather", "wears", "removes")
    VERB_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    WORK_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    CONSUMES_FIELD_NUMBER: _ClassVar[int]
    YIELDS_FIELD_NUMBER: _ClassVar[int]
    HOURS_FIELD_NUMBER: _ClassVar[int]
    SEASONS_FIELD_NUMBER: _ClassVar[int]
    WEATHER_FIELD_NUMBER: _ClassVar[int]
    WEARS_FIELD_NUMBER: _ClassVar[int]
    REMOVES_FIELD_NUMBER: _ClassVar[int]
    verb: str
    to: str
    work: int
    needs: _containers.RepeatedCompositeFieldContainer[ItemAmount]
    consumes: _containers.RepeatedCompositeFieldContainer[ItemAmount]
    yields: _containers.RepeatedCompositeFieldContainer[ItemAmount]
    hours: Hours
    seasons: _containers.RepeatedScalarFieldContainer[str]
    weather: _containers.RepeatedScalarFieldContainer[str]
    wears: _containers.RepeatedCompositeFieldContainer[ItemAmount]
    removes: bool
    def __init__(self, verb: _Optional[str] = ..., to: _Optional[str] = ..., work: _Optional[int] = ..., needs: _Optional[_Iterable[_Union[ItemAmount, _Mapping]]] = ..., consumes: _Optional[_Iterable[_Union[ItemAmount, _Mapping]]] = ..., yields: _Optional[_Iterable[_Union[ItemAmount, _Mapping]]] = ..., hours: _Optional[_Union[Hours, _Mapping]] = ..., seasons: _Optional[_Iterable[str]] = ..., weather: _Optional[_Iterable[str]] = ..., wears: _Optional[_Iterable[_Union[ItemAmount, _Mapping]]] = ..., removes: _Optional[bool] = ...) -> None: ...

class StateInfo(_message.Message):
    __slots__ = ("name", "walkable", "opaque", "actions", "each_tick")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WALKABLE_FIELD_NUMBER: _ClassVar[int]
    OPAQUE_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    EACH_TICK_FIELD_NUMBER: _ClassVar[int]
    name: str
    walkable: bool
    opaque: bool
    actions: _containers.RepeatedCompositeFieldContainer[ActionInfo]
    each_tick: _containers.RepeatedCompositeFieldContainer[NeedChange]
    def __init__(self, name: _Optional[str] = ..., walkable: _Optional[bool] = ..., opaque: _Optional[bool] = ..., actions: _Optional[_Iterable[_Union[ActionInfo, _Mapping]]] = ..., each_tick: _Optional[_Iterable[_Union[NeedChange, _Mapping]]] = ...) -> None: ...

class KindInfo(_message.Message):
    __slots__ = ("name", "states", "tags", "stock_item", "container", "build", "most_built", "width", "height", "doubling_ticks")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    STOCK_ITEM_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    BUILD_FIELD_NUMBER: _ClassVar[int]
    MOST_BUILT_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    DOUBLING_TICKS_FIELD_NUMBER: _ClassVar[int]
    name: str
    states: _containers.RepeatedCompositeFieldContainer[StateInfo]
    tags: _containers.RepeatedScalarFieldContainer[str]
    stock_item: str
    container: ContainerInfo
    build: ActionInfo
    most_built: int
    width: int
    height: int
    doubling_ticks: int
    def __init__(self, name: _Optional[str] = ..., states: _Optional[_Iterable[_Union[StateInfo, _Mapping]]] = ..., tags: _Optional[_Iterable[str]] = ..., stock_item: _Optional[str] = ..., container: _Optional[_Union[ContainerInfo, _Mapping]] = ..., build: _Optional[_Union[ActionInfo, _Mapping]] = ..., most_built: _Optional[int] = ..., width: _Optional[int] = ..., height: _Optional[int] = ..., doubling_ticks: _Optional[int] = ...) -> None: ...

class ContainerInfo(_message.Message):
    __slots__ = ("holds", "sells", "buys", "hours")
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    SELLS_FIELD_NUMBER: _ClassVar[int]
    BUYS_FIELD_NUMBER: _ClassVar[int]
    HOURS_FIELD_NUMBER: _ClassVar[int]
    holds: int
    sells: _containers.RepeatedCompositeFieldContainer[Price]
    buys: _containers.RepeatedCompositeFieldContainer[Price]
    hours: Hours
    def __init__(self, holds: _Optional[int] = ..., sells: _Optional[_Iterable[_Union[Price, _Mapping]]] = ..., buys: _Optional[_Iterable[_Union[Price, _Mapping]]] = ..., hours: _Optional[_Union[Hours, _Mapping]] = ...) -> None: ...

class Price(_message.Message):
    __slots__ = ("item", "price")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    item: str
    price: _containers.RepeatedCompositeFieldContainer[ItemAmount]
    def __init__(self, item: _Optional[str] = ..., price: _Optional[_Iterable[_Union[ItemAmount, _Mapping]]] = ...) -> None: ...

class FloorInfo(_message.Message):
    __slots__ = ("name", "walkable", "opaque", "hazards", "energy", "hunger", "step_ticks", "own_needs")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WALKABLE_FIELD_NUMBER: _ClassVar[int]
    OPAQUE_FIELD_NUMBER: _ClassVar[int]
    HAZARDS_FIELD_NUMBER: _ClassVar[int]
    ENERGY_FIELD_NUMBER: _ClassVar[int]
    HUNGER_FIELD_NUMBER: _ClassVar[int]
    STEP_TICKS_FIELD_NUMBER: _ClassVar[int]
    OWN_NEEDS_FIELD_NUMBER: _ClassVar[int]
    name: str
    walkable: bool
    opaque: bool
    hazards: _containers.RepeatedScalarFieldContainer[str]
    energy: int
    hunger: int
    step_ticks: int
    own_needs: _containers.RepeatedCompositeFieldContainer[NeedChange]
    def __init__(self, name: _Optional[str] = ..., walkable: _Optional[bool] = ..., opaque: _Optional[bool] = ..., hazards: _Optional[_Iterable[str]] = ..., energy: _Optional[int] = ..., hunger: _Optional[int] = ..., step_ticks: _Optional[int] = ..., own_needs: _Optional[_Iterable[_Union[NeedChange, _Mapping]]] = ...) -> None: ...

class GoalInfo(_message.Message):
    __slots__ = ("name", "score", "ends", "tags", "types", "ids", "all_in", "each_in", "carry", "object_id", "state", "tick_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    ENDS_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    TYPES_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    ALL_IN_FIELD_NUMBER: _ClassVar[int]
    EACH_IN_FIELD_NUMBER: _ClassVar[int]
    CARRY_FIELD_NUMBER: _ClassVar[int]
    OBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TICK_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    score: int
    ends: bool
    tags: _containers.RepeatedScalarFieldContainer[str]
    types: _containers.RepeatedScalarFieldContainer[str]
    ids: _containers.RepeatedScalarFieldContainer[str]
    all_in: str
    each_in: str
    carry: _containers.RepeatedCompositeFieldContainer[ItemAmount]
    object_id: str
    state: str
    tick_id: int
    def __init__(self, name: _Optional[str] = ..., score: _Optional[int] = ..., ends: _Optional[bool] = ..., tags: _Optional[_Iterable[str]] = ..., types: _Optional[_Iterable[str]] = ..., ids: _Optional[_Iterable[str]] = ..., all_in: _Optional[str] = ..., each_in: _Optional[str] = ..., carry: _Optional[_Iterable[_Union[ItemAmount, _Mapping]]] = ..., object_id: _Optional[str] = ..., state: _Optional[str] = ..., tick_id: _Optional[int] = ...) -> None: ...

class WorldHeader(_message.Message):
    __slots__ = ("name", "world_version", "width", "height", "sight_radius", "hearing_radius", "tick_duration_ms", "intent_deadline_ms", "floors", "item_kinds", "verbs", "kinds", "object_count", "actor_count", "ground_count", "setting", "own_needs", "items", "goals")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WORLD_VERSION_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    SIGHT_RADIUS_FIELD_NUMBER: _ClassVar[int]
    HEARING_RADIUS_FIELD_NUMBER: _ClassVar[int]
    TICK_DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    INTENT_DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    FLOORS_FIELD_NUMBER: _ClassVar[int]
    ITEM_KINDS_FIELD_NUMBER: _ClassVar[int]
    VERBS_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    OBJECT_COUNT_FIELD_NUMBER: _ClassVar[int]
    ACTOR_COUNT_FIELD_NUMBER: _ClassVar[int]
    GROUND_COUNT_FIELD_NUMBER: _ClassVar[int]
    SETTING_FIELD_NUMBER: _ClassVar[int]
    OWN_NEEDS_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    GOALS_FIELD_NUMBER: _ClassVar[int]
    name: str
    world_version: str
    width: int
    height: int
    sight_radius: int
    hearing_radius: int
    tick_duration_ms: int
    intent_deadline_ms: int
    floors: _containers.RepeatedCompositeFieldContainer[FloorInfo]
    item_kinds: _containers.RepeatedScalarFieldContainer[str]
    verbs: _containers.RepeatedScalarFieldContainer[str]
    kinds: _containers.RepeatedCompositeFieldContainer[KindInfo]
    object_count: int
    actor_count: int
    ground_count: int
    setting: WorldSetting
    own_needs: _containers.RepeatedScalarFieldContainer[str]
    items: _containers.RepeatedCompositeFieldContainer[ItemInfo]
    goals: _containers.RepeatedCompositeFieldContainer[GoalInfo]
    def __init__(self, name: _Optional[str] = ..., world_version: _Optional[str] = ..., width: _Optional[int] = ..., height: _Optional[int] = ..., sight_radius: _Optional[int] = ..., hearing_radius: _Optional[int] = ..., tick_duration_ms: _Optional[int] = ..., intent_deadline_ms: _Optional[int] = ..., floors: _Optional[_Iterable[_Union[FloorInfo, _Mapping]]] = ..., item_kinds: _Optional[_Iterable[str]] = ..., verbs: _Optional[_Iterable[str]] = ..., kinds: _Optional[_Iterable[_Union[KindInfo, _Mapping]]] = ..., object_count: _Optional[int] = ..., actor_count: _Optional[int] = ..., ground_count: _Optional[int] = ..., setting: _Optional[_Union[WorldSetting, _Mapping]] = ..., own_needs: _Optional[_Iterable[str]] = ..., items: _Optional[_Iterable[_Union[ItemInfo, _Mapping]]] = ..., goals: _Optional[_Iterable[_Union[GoalInfo, _Mapping]]] = ...) -> None: ...

class ListControllableEntitiesRequest(_message.Message):
    __slots__ = ("uncontrolled_only", "page_size", "after_entity_id")
    UNCONTROLLED_ONLY_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    AFTER_ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    uncontrolled_only: bool
    page_size: int
    after_entity_id: str
    def __init__(self, uncontrolled_only: _Optional[bool] = ..., page_size: _Optional[int] = ..., after_entity_id: _Optional[str] = ...) -> None: ...

class ListControllableEntitiesResponse(_message.Message):
    __slots__ = ("entities", "more")
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    entities: _containers.RepeatedCompositeFieldContainer[EntityInfo]
    more: bool
    def __init__(self, entities: _Optional[_Iterable[_Union[EntityInfo, _Mapping]]] = ..., more: _Optional[bool] = ...) -> None: ...

class StreamEntityLifecycleRequest(_message.Message):
    __slots__ = ("include_present",)
    INCLUDE_PRESENT_FIELD_NUMBER: _ClassVar[int]
    include_present: bool
    def __init__(self, include_present: _Optional[bool] = ...) -> None: ...

class StreamEntityLifecycleResponse(_message.Message):
    __slots__ = ("event",)
    EVENT_FIELD_NUMBER: _ClassVar[int]
    event: LifecycleEvent
    def __init__(self, event: _Optional[_Union[LifecycleEvent, _Mapping]] = ...) -> None: ...

class StreamWorldRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StreamWorldResponse(_message.Message):
    __slots__ = ("header", "floor_codes", "objects", "actors", "ground")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    FLOOR_CODES_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    ACTORS_FIELD_NUMBER: _ClassVar[int]
    GROUND_FIELD_NUMBER: _ClassVar[int]
    header: WorldHeader
    floor_codes: bytes
    objects: _containers.RepeatedCompositeFieldContainer[ObjectInfo]
    actors: _containers.RepeatedCompositeFieldContainer[EntityInfo]
    ground: _containers.RepeatedCompositeFieldContainer[GroundInfo]
    def __init__(self, header: _Optional[_Union[WorldHeader, _Mapping]] = ..., floor_codes: _Optional[bytes] = ..., objects: _Optional[_Iterable[_Union[ObjectInfo, _Mapping]]] = ..., actors: _Optional[_Iterable[_Union[EntityInfo, _Mapping]]] = ..., ground: _Optional[_Iterable[_Union[GroundInfo, _Mapping]]] = ...) -> None: ...
