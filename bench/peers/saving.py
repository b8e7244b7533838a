"""Cases that save and cases that load: folders of their own, and only the work itself is timed."""

import os
import shutil
import tempfile
import time


def bench_folder():
    return tempfile.mkdtemp(prefix="python-bench-", dir=os.environ.get("ZENSOR_BENCH_DIR"))


class Saves:
    """Writes to a fresh folder each time; removing it does not count."""

    note = None

    def save(self, folder):
        raise NotImplementedError

    def once(self):
        folder = bench_folder()
        try:
            start = time.perf_counter()
            self.save(folder)
            return time.perf_counter() - start
        finally:
            shutil.rmtree(folder)

    def run(self, n):
        return sum(self.once() for _ in range(n))

    def dispose(self):
        pass

    def choose_threads(self, choices):
        """Takes the number of threads that is fastest in a few trials."""

        def least(threads):
            self.threads = threads
            return min(self.once() for _ in range(3))

        self.threads = min(choices, key=least)
        self.note = f"theirs with num_threads={self.threads}"


class Loads:
    """Loads what was saved once; `tensors` lists those of what was loaded, and `use` is done with each."""

    note = None

    def __init__(self, name, save, load, tensors=None, use=None):
        self.folder = bench_folder()
        self.path = os.path.join(self.folder, name)
        self.load, self.tensors, self.use = load, tensors, use
        save(self.path)

    def run(self, n):
        start = time.perf_counter()
        for _ in range(n):
            loaded = self.load(self.path)
            if self.use is not None:
                for tensor in self.tensors(loaded):
                    self.use(tensor)
        return time.perf_counter() - start

    def dispose(self):
        shutil.rmtree(self.folder, ignore_errors=True)
