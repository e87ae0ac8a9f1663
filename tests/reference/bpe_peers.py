"""Merges of other trainers, spelled alike."""

import json

from tokenizer import reference, trainer
from tokenizer.patterns import GPT2


def spelled(found: trainer.Training) -> list[tuple[str, str]]:
    """Merges in GPT-2's byte alphabet."""
    alphabet = reference.byte_alphabet()
    names = [alphabet[b] for b in range(256)]
    out = []
    for left, right, _ in found.merges.tolist():
        out.append((names[left], names[right]))
        names.append(names[left] + names[right])
    return out


def hugging_face_merges(texts: list[str], merges: int, minimum: int) -> list[tuple[str, str]]:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    theirs = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(GPT2), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    theirs.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    theirs.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=256 + merges, min_frequency=minimum, show_progress=False, initial_alphabet=alphabet
        ),
    )
    return [tuple(pair) for pair in json.loads(theirs.to_str())["model"]["merges"]]
