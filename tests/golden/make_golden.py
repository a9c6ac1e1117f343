#!/usr/bin/env python3
"""Makes tests/data/golden: what the reference library makes of texts.py, to compare ours with.

    python3 -m venv VENV && VENV/bin/pip install sentence-transformers
    VENV/bin/python tests/golden/make_golden.py --minilm build/models/all-MiniLM-L6-v2

Run by hand and its output committed; the tests need none of these packages. Everything is computed
in f32 on the CPU, whatever the weights are kept in. tests/data/golden/README.md says what the files
hold; versions.json there, with which versions of the packages they were made.
"""
import argparse
import collections
import json
import os
import platform
import shutil
import sys

import numpy
import safetensors.torch
import sentence_transformers
import tokenizers
import torch
import transformers

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import texts as golden_texts  # noqa: E402

OUT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "golden")
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
MAX_LENGTH = 64
# Of Unicode 16 and later; not every utf8proc knows their small letters.
LATE_CAPITALS = {0x1c89, 0xa7cb, 0xa7cc, 0xa7ce, 0xa7d2, 0xa7d4, 0xa7da, 0xa7dc,
                 *range(0x10d50, 0x10d66), *range(0x16ea0, 0x16eb9)}
CARD = {"sentence_transformers": "2.0.0", "transformers": "4.6.1", "pytorch": "1.8.1"}


def write_json(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        json.dump(value, file, indent=2, ensure_ascii=False)
        file.write("\n")


def write_parts(name, *parts):
    with open(os.path.join(OUT, name), "wb") as file:
        for part in parts:
            file.write(part.tobytes())


def bert_tokenizer(lower):
    """A tokenizer as BERT's, with no word in it yet."""
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=lower)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.decoder = tokenizers.decoders.WordPiece(prefix="##")
    return made


def vocabulary(texts, lower, size):
    """The characters and the parts of words that are most of the texts. (The library's own trainer
    does not give the same twice.)"""
    made = bert_tokenizer(lower)
    letters, parts = collections.Counter(), collections.Counter()
    for text in texts:
        for word, _ in made.pre_tokenizer.pre_tokenize_str(made.normalizer.normalize_str(text)):
            pieces = [("##" if i else "") + word[i:j] for i in range(min(len(word), 40))
                      for j in range(i + 1, min(i + 9, len(word)) + 1)]
            letters.update(piece for piece in pieces if len(piece.replace("##", "", 1)) == 1)
            parts.update({piece: len(piece.replace("##", "", 1)) for piece in set(pieces)})
    chosen = set()
    for counter, most in ((letters, 500), (parts, size - len(SPECIAL))):
        ranked = sorted(counter, key=lambda piece, c=counter: (-c[piece], piece))
        chosen |= set([piece for piece in ranked if piece not in chosen][:most - len(chosen)])
    return {piece: i for i, piece in enumerate(SPECIAL + sorted(chosen - set(SPECIAL)))}


def write_tokenizer(folder, vocab, lower, files):
    if "vocab.txt" in files:
        with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8", newline="\n") as file:
            file.write("".join(piece + "\n" for piece in vocab))
    if "tokenizer.json" in files:
        made = bert_tokenizer(lower)
        made.model = tokenizers.models.WordPiece(vocab, unk_token="[UNK]")
        made.add_special_tokens(SPECIAL)
        made.post_processor = tokenizers.processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[(name, vocab[name]) for name in ("[CLS]", "[SEP]")])
        made.save(os.path.join(folder, "tokenizer.json"), pretty=False)
    names = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]",
             "cls_token": "[CLS]", "mask_token": "[MASK]"}
    write_json(os.path.join(folder, "special_tokens_map.json"), names)
    write_json(os.path.join(folder, "tokenizer_config.json"), {
        "do_lower_case": lower, **names, "tokenize_chinese_chars": True, "strip_accents": None,
        "do_basic_tokenize": True, "never_split": None, "tokenizer_class": "BertTokenizer",
        "model_max_length": MAX_LENGTH})


def randomise(model, seed):
    """Weights far enough from nothing that no part of the model can be left out unseen."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "LayerNorm.weight" in name:
                weight.copy_(1 + 0.2 * torch.randn_like(weight))
            elif name.endswith("bias"):
                weight.copy_(0.2 * torch.randn_like(weight))
            elif "embeddings" in name:
                weight.copy_(0.7 * torch.randn_like(weight))
            else:
                weight.copy_(torch.randn_like(weight) * 1.3 / weight.shape[1] ** 0.5)


def write_weights(folder, model, dtype, config):
    weights = {name: weight.to(dtype).contiguous() for name, weight in model.state_dict().items()}
    safetensors.torch.save_file(weights, os.path.join(folder, "model.safetensors"),
                                metadata={"format": "pt"})
    write_json(os.path.join(folder, "config.json"), config)


def bert_config(architecture, vocab, dtype, **shape):
    return {
        "architectures": [architecture], "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1, "initializer_range": 0.02, "layer_norm_eps": 1e-12,
        "max_position_embeddings": MAX_LENGTH, "model_type": "bert", "pad_token_id": 0,
        "position_embedding_type": "absolute", "torch_dtype": dtype, "type_vocab_size": 2,
        "use_cache": True, "vocab_size": len(vocab), **shape}


def write_sentence_layout(folder, dimension, pooling, normalize):
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling")]
    kinds += [("2_Normalize", "Normalize")] if normalize else []
    write_json(os.path.join(folder, "modules.json"), [
        {"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models." + kind}
        for i, (path, kind) in enumerate(kinds)])
    write_json(os.path.join(folder, "1_Pooling", "config.json"), {
        "word_embedding_dimension": dimension,
        "pooling_mode_cls_token": pooling == "cls", "pooling_mode_mean_tokens": pooling == "mean",
        "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False})
    write_json(os.path.join(folder, "sentence_bert_config.json"),
               {"max_seq_length": MAX_LENGTH, "do_lower_case": False})
    write_json(os.path.join(folder, "config_sentence_transformers.json"), {"__version__": CARD})


def fresh(name):
    folder = os.path.join(OUT, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def make_encoder(name, vocab, lower, files, dtype, pooling, seed, shape):
    folder = fresh(name)
    write_tokenizer(folder, vocab, lower, files)
    config = bert_config("BertModel", vocab, str(dtype).split(".")[1], **shape)
    model = transformers.BertModel(transformers.BertConfig(**config))
    randomise(model, seed)
    write_weights(folder, model, dtype, config)
    write_sentence_layout(folder, shape["hidden_size"], pooling, normalize=pooling == "cls")
    return folder


def make_cross(name, vocab, dtype, seed, shape):
    folder = fresh(name)
    write_tokenizer(folder, vocab, True, ("vocab.txt", "tokenizer.json"))
    config = bert_config("BertForSequenceClassification", vocab, str(dtype).split(".")[1], **shape)
    config["id2label"] = {"0": "LABEL_0"}
    config["label2id"] = {"LABEL_0": 0}
    config["sbert_ce_default_activation_function"] = "torch.nn.modules.linear.Identity"
    model = transformers.BertForSequenceClassification(
        transformers.BertConfig(**config, num_labels=1))
    randomise(model, seed)
    write_weights(folder, model, dtype, config)
    return folder


def rows(batch, name):
    """The rows of a padded batch without their padding."""
    mask = batch["attention_mask"].bool()
    return [row[keep].tolist() for row, keep in zip(batch[name], mask)]


def flat(lists, dtype):
    return numpy.array([item for row in lists for item in row], dtype=dtype)


def golden_encoder(name, folder, texts):
    model = sentence_transformers.SentenceTransformer(
        folder, device="cpu", model_kwargs={"dtype": torch.float32}, local_files_only=True)
    most = model.max_seq_length
    whole = model.tokenizer(texts, truncation=False)["input_ids"]
    cut = [row if len(row) <= most else row[:most - 1] + row[-1:] for row in whole]
    assert rows(model.preprocess(texts), "input_ids") == cut, "not how ids are cut"
    write_parts(name + ".ids.bin", numpy.array([len(texts), most], "<u4"),
                numpy.array([len(row) for row in whole], "<u2"), flat(whole, "<u2"))
    # One text at a time: padding changes the last bits.
    vectors = numpy.vstack([model.encode([text], convert_to_numpy=True, normalize_embeddings=True)
                            for text in texts])
    assert numpy.allclose(numpy.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    write_parts(name + ".vectors.bin", numpy.array(vectors.shape, "<u4"), vectors.astype("<f2"))
    half = vectors.astype("<f2").astype("f8")
    half /= numpy.linalg.norm(half, axis=1, keepdims=True)
    spread = (vectors @ vectors.T)[numpy.triu_indices(len(texts), 1)]
    print("%-18s %d ids, dimension %d, f16 cosine >= %.7f, cosines of two texts %.3f..%.3f" % (
        name, sum(map(len, whole)), vectors.shape[1], (half * vectors).sum(axis=1).min(),
        spread.min(), numpy.median(spread)))


def cut_pair(a, b, most):
    """Pieces of each side that are left where both may have `most`; README.md tells the rule."""
    if a + b <= most:
        return a, b
    short, long = min(a, b), max(a, b)
    long = max(short, most - short) if short <= most else short
    if short + long > most:
        short, long = most // 2, most - most // 2
    return (short, long) if a <= b else (long, short)


def check_pairs(tokenizer, pairs, ids, kinds):
    for pair, row, kind in zip(pairs, ids, kinds):
        a, b = (tokenizer(side, add_special_tokens=False)["input_ids"] for side in pair)
        left, right = cut_pair(len(a), len(b), MAX_LENGTH - 3)
        cls, sep = tokenizer.cls_token_id, tokenizer.sep_token_id
        assert row == [cls] + a[:left] + [sep] + b[:right] + [sep], (pair, left, right)
        assert kind == [0] * (left + 2) + [1] * (right + 1)


def golden_cross(name, folder, pairs):
    model = sentence_transformers.CrossEncoder(
        folder, device="cpu", model_kwargs={"dtype": torch.float32}, local_files_only=True)
    batch = model.preprocess(pairs)
    ids = rows(batch, "input_ids")
    kinds = rows(batch, "token_type_ids")
    check_pairs(model.tokenizer, pairs, ids, kinds)
    write_parts(name + ".pairs.bin", numpy.array([len(pairs), MAX_LENGTH], "<u4"),
                numpy.array([len(row) for row in ids], "<u2"), flat(ids, "<u2"), flat(kinds, "u1"))
    logits = numpy.array([model.predict([pair], activation_fn=torch.nn.Identity())[0]
                          for pair in pairs], "<f4")
    write_parts(name + ".logits.bin", numpy.array([len(pairs)], "<u4"), logits)
    print("%-18s %d pairs, %d of full length, logits %.3f..%.3f" % (
        name, len(pairs), sum(len(row) == MAX_LENGTH for row in ids), logits.min(), logits.max()))


def fnv(data):
    value = 0x811c9dc5
    for byte in data:
        value = (value ^ byte) * 0x01000193 & 0xffffffff
    return value


def golden_characters():
    """A hash for each 4,096 characters of what becomes of "a", each of them, "b"."""
    split = tokenizers.pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    hashes = []
    for lower, strip in ((True, None), (True, False), (False, None)):
        normalize = tokenizers.normalizers.BertNormalizer(
            clean_text=True, handle_chinese_chars=True, strip_accents=strip,
            lowercase=lower).normalize_str
        for first in range(0, 0x110000, 0x1000):
            known = [cp for cp in range(first, first + 0x1000)
                     if not 0xd800 <= cp < 0xe000 and cp not in LATE_CAPITALS]
            words = (word for cp in known for word, _ in split(normalize("a" + chr(cp) + "b")))
            hashes.append(fnv("".join(word + "\n" for word in words).encode()))
    write_parts("characters.bin", numpy.array(hashes, "<u4"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minilm", required=True, help="folder of all-MiniLM-L6-v2")
    args = parser.parse_args()
    torch.set_num_threads(1)
    os.makedirs(OUT, exist_ok=True)
    texts = golden_texts.make_texts()
    pairs = golden_texts.make_pairs(texts)
    golden_texts.write(os.path.join(OUT, "texts.json"), texts)
    golden_texts.write(os.path.join(OUT, "pairs.json"), pairs)

    golden_characters()

    lower = vocabulary(texts, True, 1300)
    cased = vocabulary(texts, False, 1600)
    small = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4,
             "num_hidden_layers": 2}
    other = {"hidden_size": 48, "intermediate_size": 80, "num_attention_heads": 3,
             "num_hidden_layers": 3}
    folder = make_encoder("tiny-bert-mean", lower, True, ("vocab.txt",), torch.float32, "mean", 1,
                          small)
    golden_encoder("tiny-bert-mean", folder, texts)
    folder = make_encoder("tiny-bert-cls", cased, False, ("tokenizer.json",), torch.bfloat16, "cls",
                          2, other)
    golden_encoder("tiny-bert-cls", folder, texts)
    folder = make_cross("tiny-cross", lower, torch.float16, 3, small)
    golden_cross("tiny-cross", folder, pairs)
    golden_encoder("all-MiniLM-L6-v2", args.minilm, texts)
    write_json(os.path.join(OUT, "versions.json"), {
        "python": platform.python_version(), "numpy": numpy.__version__,
        "safetensors": safetensors.__version__,
        "sentence-transformers": sentence_transformers.__version__,
        "tokenizers": tokenizers.__version__, "torch": torch.__version__,
        "transformers": transformers.__version__})


if __name__ == "__main__":
    main()
