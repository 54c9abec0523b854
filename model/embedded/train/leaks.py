"""Texts written for training that are also test rows: python3 leaks.py [--drop]. Fails where there are any.

Compared without case and punctuation, as sets of words. --drop takes them out of the files in written/; greetings
and other texts of one or two words, which everybody writes alike, stay.
"""
import os
import re
import sys

import evalsets
from pools import HERE, Pools


def key(text):
    words = frozenset(re.findall("[a-z0-9]+", text.lower().replace("'", "")))
    return words if len(words) > 2 else None


def main():
    tests = {key(r["state"]): r["set"] for r in evalsets.test(Pools())}
    tests.pop(None, None)
    found, drop = 0, "--drop" in sys.argv
    folder = os.path.join(HERE, "written")
    for name in sorted(x for x in os.listdir(folder) if x.endswith(".txt")):
        path, out = os.path.join(folder, name), []
        with open(path) as f:
            for line in f:
                fields = line.rstrip("\n").split("|")
                first = 2 if name[:-4] in ("domains", "tools", "rosters", "scopes") and fields[0] != "!" else 1  # after name and description
                same = [x for x in fields[first:] if not line.startswith(("%", "#")) and key(x) in tests]
                for x in same:
                    print("%s: %s: %r" % (name, tests[key(x)], x))
                found += len(same)
                kept = fields[:first] + [x for x in fields[first:] if x not in same]
                if len(kept) > first or len(kept) == len(fields):
                    out.append("|".join(kept) + "\n")
        if drop:
            with open(path, "w") as f:
                f.writelines(out)
    print(found, "texts are in a test set")
    sys.exit(found > 0 and not drop)


if __name__ == "__main__":
    main()
