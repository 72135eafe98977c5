"""The models of Petstore: a module for each tag, and `shared` for what tags share.

They are `TypedDict`s, so that absent (`NotRequired`) and null (`| None`) stay apart. They type the
handlers; what is valid is decided by the JSON Schemas beside the tools. Import them from here: a
model moves between the modules when tags do.
"""

from petstore_mcp._generated.models.pets import Money, NewPet, Pet, PetPage, Vaccination
from petstore_mcp._generated.models.store import Address, Delivery, NewOrder, Order
from petstore_mcp._generated.models.users import NewUser, User, UserChange

__all__ = [
    "Address",
    "Delivery",
    "Money",
    "NewOrder",
    "NewPet",
    "NewUser",
    "Order",
    "Pet",
    "PetPage",
    "User",
    "UserChange",
    "Vaccination",
]
