"""What the programs beside this one share: they run bun, print what they find, and end with the count of failures."""
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
failures = []


def bun(*args, silent=False):
    """What bun prints. `silent`: anything that it prints as an error ends this program too."""
    command = ["bun", *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0 or silent and done.stderr:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout


def beside(name, *args, silent=False):
    """What a program in this folder prints."""
    return bun(os.path.join(HERE, name), *args, silent=silent)


def check(what, good, detail=""):
    print(f"{'ok  ' if good else 'FAIL'} {what}{': ' if detail else ''}{detail}")
    if not good:
        failures.append(what)


def check_all(what, good, total):
    check(what, good == total, f"{good} of {total}")


def finish():
    """The program's exit code."""
    print(f"\n{len(failures)} failures")
    return 1 if failures else 0
