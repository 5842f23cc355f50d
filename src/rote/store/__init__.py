"""Run records, atomic files, checkpoints and the index of runs. Imports no torch until a checkpoint is touched."""

from rote.store.files import canonical, digest, read_document, write_atomically, write_document
from rote.store.index import Listed
from rote.store.record import Record, Request
from rote.store.run import FinishedRun, Run
from rote.store.store import Store
from rote.store.table import Column, Table
from rote.store.tree import load_tree, save_tree

__all__ = [
    "Column",
    "FinishedRun",
    "Listed",
    "Record",
    "Request",
    "Run",
    "Store",
    "Table",
    "canonical",
    "digest",
    "load_tree",
    "read_document",
    "save_tree",
    "write_atomically",
    "write_document",
]
