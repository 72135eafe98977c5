"""The models of Bookshop: a module for each tag, and `shared` for what tags share.

They are `TypedDict`s, so that absent (`NotRequired`) and null (`| None`) stay apart. They type the
handlers; what is valid is decided by the JSON Schemas beside the tools. Import them from here: a
model moves between the modules when tags do.
"""

from bookshop_mcp._generated.models.authors import Author, AuthorPage, ListAuthorsBorn, NewAuthor
from bookshop_mcp._generated.models.books import (
    AuthorReference,
    Book,
    BookChange,
    BookPage,
    ListBooksFilter,
    NewBook,
    Series,
)
from bookshop_mcp._generated.models.carts import Cart, CartItem, NewCart
from bookshop_mcp._generated.models.categories import Category
from bookshop_mcp._generated.models.customers import Customer, NewCustomer
from bookshop_mcp._generated.models.inventory import AdjustStockResult, StockAdjustment
from bookshop_mcp._generated.models.orders import (
    Cancellation,
    NewOrder,
    NewOrderGift,
    NewOrderPaymentVariant1,
    NewOrderPaymentVariant2,
    Order,
    OrderLine,
    OrderPage,
)
from bookshop_mcp._generated.models.reviews import NewReview, Review, ReviewAuthor, ReviewPage
from bookshop_mcp._generated.models.shared import Address, Money

__all__ = [
    "Address",
    "AdjustStockResult",
    "Author",
    "AuthorPage",
    "AuthorReference",
    "Book",
    "BookChange",
    "BookPage",
    "Cancellation",
    "Cart",
    "CartItem",
    "Category",
    "Customer",
    "ListAuthorsBorn",
    "ListBooksFilter",
    "Money",
    "NewAuthor",
    "NewBook",
    "NewCart",
    "NewCustomer",
    "NewOrder",
    "NewOrderGift",
    "NewOrderPaymentVariant1",
    "NewOrderPaymentVariant2",
    "NewReview",
    "Order",
    "OrderLine",
    "OrderPage",
    "Review",
    "ReviewAuthor",
    "ReviewPage",
    "Series",
    "StockAdjustment",
]
