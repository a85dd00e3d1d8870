#!/bin/sh
# Downloads the paper's real sets, except amazon, which needs an account, into a folder: download-data.sh [DIR] [SET...]
# HIGGS.csv.gz has 2.8 GB and is fetched only if it is named.
set -eu

folder=${1:-data}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- abalone compact powerplant yearprediction a9a w8a
mkdir -p "$folder"

LIBSVM=https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets
UCI=https://archive.ics.uci.edu/static/public

# A file appears under its name only when it is whole.
fetch() {
    name=$(basename "$1")
    if [ -e "$folder/$name" ]; then
        echo "$name is there"
    else
        echo "fetching $1"
        curl --fail --location --silent --show-error --output "$folder/$name.part" "$1"
        mv "$folder/$name.part" "$folder/$name"
    fi
}

for set in "$@"; do
    case $set in
        abalone) fetch "$LIBSVM/regression/abalone" ;;
        compact) fetch https://www.dcc.fc.up.pt/~ltorgo/Regression/compact.tar.gz ;;
        powerplant) fetch "$UCI/294/combined+cycle+power+plant.zip" ;;
        yearprediction)
            fetch "$LIBSVM/regression/YearPredictionMSD.bz2"
            fetch "$LIBSVM/regression/YearPredictionMSD.t.bz2"
            ;;
        a9a) fetch "$LIBSVM/binary/a9a" && fetch "$LIBSVM/binary/a9a.t" ;;
        w8a) fetch "$LIBSVM/binary/w8a" && fetch "$LIBSVM/binary/w8a.t" ;;
        higgs) fetch https://archive.ics.uci.edu/ml/machine-learning-databases/00280/HIGGS.csv.gz ;;
        amazon) echo "amazon: get Reviews.csv from https://www.kaggle.com/datasets/snap/amazon-fine-food-reviews" ;;
        *) echo "there is no set '$set'" >&2 && exit 1 ;;
    esac
done
