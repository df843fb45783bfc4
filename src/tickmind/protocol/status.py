"""What state an actor is in, as the bits that observations and records carry."""

from enum import IntFlag


class Status(IntFlag):
    """The bits of `status_bits`; none of them set is an actor that is awake and controlled."""

    AWAKE = 0
    ASLEEP = 1
    INCAPACITATED = 2  # too hungry to do anything but wake, eat, speak and wait
    UNCONTROLLED = 4  # nobody holds a lease
