#!/usr/bin/env bash
# Measures how well places are found in repositories that are not ours (tests/retrieval), beside counting words.
#
#   scripts/retrieval.sh            the half of the questions by which the search was tuned, with each miss
#   scripts/retrieval.sh --unseen   the other half: only how good it is
#   scripts/retrieval.sh --trees D  with repositories that lie in D already: D/gin, D/ripgrep, ...
#   BREADBOARD_RETRIEVAL_EMBEDDINGS=http://localhost:11434/v1 BREADBOARD_RETRIEVAL_EMBEDDING_MODEL=NAME scripts/retrieval.sh
#                                   the same, beside what an embedding model adds
#   BREADBOARD_RETRIEVAL_ASKED=DIR scripts/retrieval.sh
#                                   the same, beside what a chat model adds that reads the passages: each prompt is written to
#                                   DIR/REPOSITORY/HASH.prompt, and what HASH.answer holds beside it is the answer; without one words rank
#
# The repositories are fetched into target/retrieval, each at the commit that its questions name.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

half=tuned trees=
while (($#)); do
  case $1 in
    --unseen) half=unseen ;;
    --trees) trees=$2; shift ;;
    *) echo "unknown option $1; the head of this file says which there are" >&2; exit 2 ;;
  esac
  shift
done

if [[ -z $trees ]]; then
  trees=$PWD/target/retrieval
  for file in tests/retrieval/questions/*.tsv; do
    read -r _ address commit _ <"$file"
    tree=$trees/$(basename "$file" .tsv)
    [[ -d $tree/.git ]] || git init --quiet "$tree"
    git -C "$tree" cat-file -e "$commit^{commit}" 2>/dev/null || git -C "$tree" fetch --quiet --depth 1 "$address" "$commit"
    git -C "$tree" checkout --quiet --detach "$commit"
  done
fi

export BREADBOARD_RETRIEVAL_TREES=$trees BREADBOARD_RETRIEVAL_HALF=$half
exec cargo test --locked --test retrieval -- --nocapture
