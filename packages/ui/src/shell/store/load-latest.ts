/**
 * Runs one load after another. While one runs, only the latest of the following requests is kept: a slider moves faster than a server
 * responds. Failures are ignored.
 */
export function createLatestLoader<What>(load: (what: What) => Promise<void>): (what: What) => void {
  let next: { readonly what: What } | undefined;
  let isLoading = false;
  const run = async (): Promise<void> => {
    isLoading = true;
    for (let current = next; current !== undefined; current = next) {
      next = undefined;
      await load(current.what).catch(() => {});
    }
    isLoading = false;
  };
  return (what) => {
    next = { what };
    if (!isLoading) void run();
  };
}
