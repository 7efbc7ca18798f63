#!/bin/sh
# Checks what only a machine with a GPU can show, in less than five minutes and without network.
#
#     tests/gpu/run.sh [PYTHON]
#
# PYTHON (3.10 or newer) imports a CUDA build of torch; by default the first such python3 or python on PATH, or conda's. Nothing has
# to be installed: envkit's probes need the standard library alone. One line per check; status 1 when one failed, 0 where there
# is no GPU.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$(dirname "$here")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

tell() { printf '%-4s  %s\n' "$1" "$2"; }

check() { # check NAME COMMAND...: one line, and the output of what failed
    name=$1
    shift
    if "$@" >"$work/out" 2>&1; then
        tell pass "$name$(sed -n 's/^said: /: /p' "$work/out" | tr '\n' ' ')"
    else
        status=$?
        if [ "$status" = 77 ]; then
            tell skip "$name: $(tail -n 1 "$work/out")"
        else
            failed=1
            tell FAIL "$name (status $status)"
            sed 's/^/      /' "$work/out"
        fi
    fi
}

expect_status() { # expect_status N COMMAND...
    wanted=$1
    shift
    "$@"
    found=$?
    [ "$found" = "$wanted" ] || { echo "status $found instead of $wanted"; return 1; }
}

if ! command -v nvidia-smi >/dev/null 2>&1 || ! nvidia-smi -L 2>/dev/null | grep -q '^GPU '; then
    tell skip "no GPU here: nvidia-smi lists none"
    exit 0
fi

python=${1-}
if [ -z "$python" ]; then
    for candidate in python3 python /opt/conda/bin/python "$HOME/miniconda3/bin/python" /usr/bin/python3; do
        if "$candidate" -c 'import sys, torch; sys.exit(not (torch.version.cuda and sys.version_info >= (3, 10)))' 2>/dev/null; then
            python=$candidate
            break
        fi
    done
fi
if [ -z "$python" ]; then
    tell FAIL "there is a GPU, but no Python here imports a CUDA build of torch; give one: $0 PYTHON"
    exit 1
fi
PYTHONPATH=$root
PYTHONDONTWRITEBYTECODE=1
ENVKIT_HOME=${ENVKIT_HOME:-$work/envkit}
export PYTHONPATH PYTHONDONTWRITEBYTECODE ENVKIT_HOME
tell note "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | tr '\n' ';')"
tell note "$("$python" -c 'import sys, torch; print("Python", sys.version.split()[0], "torch", torch.__version__, "at", sys.executable)')"

probe=$root/envkit/probes/check_env.py
check "the check script, on the GPU" expect_status 0 "$python" "$probe" --expect '{}'
check "the check script sees a hidden GPU" \
    expect_status 10 env CUDA_VISIBLE_DEVICES= "$python" "$probe" --expect '{}'
check "the check script, under another build's CUDA" \
    expect_status 6 "$python" "$probe" --expect '{"build_cuda": "1.0", "packages": {}}'
for part in nvidia_smi fits verify hidden toolkits activation cuda_check; do
    check "$part" "$python" "$here/probes.py" "$part" "$work" "$python"
done
[ "$failed" = 0 ] && tell pass "all checks"
exit "$failed"
