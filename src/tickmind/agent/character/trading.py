"""`TradingCharacter`: actions at containers and stalls, and with the offers of others."""

from collections.abc import Callable

from tickmind.agent.character.needs import NeedyCharacter
from tickmind.agent.character.tactics import action, condition
from tickmind.agent.knowledge import Thing
from tickmind.agent.minds import Start
from tickmind.ai import Status
from tickmind.protocol import Accept, Buy, ContainerInfo, Decline, Offer, OpenOffer, Put, Sell, Take


class TradingCharacter(NeedyCharacter):
    """A character that puts items into containers, takes them, buys, sells and exchanges."""

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self._containers = {kind.name: kind.container for kind in self.kinds if kind.container is not None}
        self._known_containers: tuple[int, list[Thing]] = (-1, [])  # the tick in which they were known, and they

    @condition
    def offered(self, item: str = "") -> bool:
        """Return whether an actor beside it offers something that it can pay for, or a certain item."""
        return self._good_offer(item) is not None

    @action
    def put(self, item: str, kind: str = "", amount: int = 1) -> Status:
        """Go to a container with room, and put items into it; fails if there is none, or it has too few items.

        Its own stalls that sell the item go first, then its own containers, then those without an owner.
        """
        if self.carries(item) < amount:
            return Status.FAILURE

        def fits(thing: Thing, container: ContainerInfo) -> bool:
            allowed = thing.seen.owner in ("", self.entity_id) and kind in ("", thing.seen.kind)
            return allowed and self.surroundings.held(thing) + amount <= container.holds

        def sells(thing: Thing, container: ContainerInfo) -> bool:
            own = thing.seen.owner == self.entity_id
            return own and container.price(item, sells=True) is not None and fits(thing, container)

        def owns(thing: Thing, container: ContainerInfo) -> bool:
            return thing.seen.owner == self.entity_id and fits(thing, container)

        tries = (self._at_container(best, lambda target: Put(target, item, amount)) for best in (sells, owns, fits))
        return next((status for status in tries if status is not Status.FAILURE), Status.FAILURE)

    @action
    def take(self, item: str, kind: str = "", amount: int = 1) -> Status:
        """Go to the nearest container from which it may take such items, and take them; fails if none is known.

        What a container of another actor, or without an owner, sells is bought, and not taken.
        """

        def fits(thing: Thing, container: ContainerInfo) -> bool:
            own, free = thing.seen.owner == self.entity_id, container.price(item, sells=True) is None
            allowed = (own or (free and not thing.seen.owner)) and kind in ("", thing.seen.kind)
            return allowed and self.surroundings.held(thing, item) >= amount

        return self._at_container(fits, lambda target: Take(target, item, amount))

    @action
    def buy(self, item: str, amount: int = 1) -> Status:
        """Go to the nearest open container that sells such items, and buy them; fails if none is known, or too dear."""
        seller = self.seller_of(item, amount)
        return self._work_at(seller, lambda target: Buy(target, item, amount))

    def seller_of(self, item: str, amount: int = 1) -> Thing | None:
        """Return the nearest known open container that sells such items for what it has."""

        def fits(thing: Thing, container: ContainerInfo) -> bool:
            price = container.price(item, sells=True)
            if price is None or not self._is_open(container) or self.surroundings.held(thing, item) < amount:
                return False
            return all(self.carries(money) >= each * amount for money, each in price)

        return self._nearest_container(fits)

    @action
    def sell(self, item: str, amount: int = 1) -> Status:
        """Go to the nearest open container that buys such items and can pay, and sell them; fails if none is known."""
        return self._work_at(self.buyer_of(item, amount), lambda target: Sell(target, item, amount))

    def buyer_of(self, item: str, amount: int = 1) -> Thing | None:
        """Return the nearest known open container that buys such items of it, has room for them, and can pay."""

        def fits(thing: Thing, container: ContainerInfo) -> bool:
            price = container.price(item, sells=False)
            if price is None or not self._is_open(container) or self.carries(item) < amount:
                return False
            room = container.holds - self.surroundings.held(thing) + sum(each for _, each in price) * amount
            pays = all(self.surroundings.held(thing, money) >= each * amount for money, each in price)
            return pays and room >= amount

        return self._nearest_container(fits)

    @action
    def accept_offer(self, item: str = "") -> Status:
        """Accept the first offer that it can pay for, or the first of an item; fails if there is none."""
        offer = self._good_offer(item)
        return Status.FAILURE if offer is None else self.do(Accept(offer.actor_id))

    @action
    def decline_offer(self) -> Status:
        """Decline the first offer; fails if there is none."""
        offers = self.observation.offers
        return self.do(Decline(offers[0].actor_id)) if offers else Status.FAILURE

    @action
    def offer(self, to: str, item: str, amount: int = 1, wanted: str = "", wanted_amount: int = 1) -> Status:
        """Go to another actor, and offer it items for others, or as a gift; fails if it has too few."""
        other = self.surroundings.people.get(to)
        if other is None or self.carries(item) < amount:
            return Status.FAILURE
        status = self.walk(other.at, beside=True)
        return self.do(Offer(to, item, amount, wanted, wanted_amount)) if status is Status.SUCCESS else status

    def _good_offer(self, item: str) -> OpenOffer | None:
        beside = {person.entity_id for person in self.surroundings.near(self.at, 1)}
        affordable = (
            offer
            for offer in self.observation.offers
            if item in ("", offer.kind)
            and offer.actor_id in beside
            and self.carries(offer.wanted_kind) >= offer.wanted_amount
        )
        return next(affordable, None)

    def _at_container(
        self, fits: Callable[[Thing, ContainerInfo], bool], intent: Callable[[str], Put | Take | Buy | Sell]
    ) -> Status:
        return self._work_at(self._nearest_container(fits), intent)

    def _nearest_container(self, fits: Callable[[Thing, ContainerInfo], bool]) -> Thing | None:
        around, containers = self.surroundings, self._containers
        if containers and self._known_containers[0] != self.tick:  # it may ask for several items in a tick
            found = [thing for thing in around.things.values() if thing.seen.kind in containers]
            self._known_containers = self.tick, found
        known = self._known_containers[1]
        fit = (thing for thing in known if fits(thing, containers[thing.seen.kind]) and self.reachable(thing))
        return around.nearest(fit, self.at)

    def _work_at(self, thing: Thing | None, intent: Callable[[str], Put | Take | Buy | Sell]) -> Status:
        if thing is None:
            return Status.FAILURE
        status = self.walk_to(thing, beside=True)
        return self.do(intent(thing.seen.object_id)) if status is Status.SUCCESS else status

    def _is_open(self, container: ContainerInfo) -> bool:
        return self.time.allows(container.hours)
