#!/bin/sh
# Builds llama-server from the sources in the engine's package, so that the same llama.cpp is compared. It takes
# about a quarter of an hour on two cores, and needs git, cmake and a C++ compiler.
#
#   ./build-llama-server.sh FOLDER [JOBS]      creates FOLDER/llama-server
set -eu
folder=${1:?the folder to build in}
jobs=${2:-1}
package=$(cd "$(dirname "$0")/../node_modules/node-llama-cpp/llama" && pwd)
mkdir -p "$folder"
cd "$folder"
[ -d sources ] || git clone --quiet "$package/gitRelease.bundle" sources
cmake -S sources -B build -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
  -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_OPENSSL=OFF
cmake --build build --target llama-server --parallel "$jobs"
ln -sf build/bin/llama-server llama-server
echo "$folder/llama-server: llama.cpp $(sed -n 's/.*"release": "\(.*\)".*/\1/p' "$package/binariesGithubRelease.json")"
