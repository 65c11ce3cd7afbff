import type { FormProblem } from "./draft.js";

/** How long the code of the worker may take to load. */
const maxLoadMs = 20_000;
const maxMs = 1500;

/** The validation errors of a value; undefined if the schema cannot be evaluated, or not in time. The server validates in any case. */
export function validateInWorker(schema: unknown, value: unknown): Promise<readonly FormProblem[] | undefined> {
  return new Promise((resolve) => {
    const worker = new Worker(new URL("./validation-worker.ts", import.meta.url), { type: "module" });
    const end = (problems?: readonly FormProblem[]): void => {
      clearTimeout(timer);
      worker.terminate();
      resolve(problems);
    };
    let timer = setTimeout(end, maxLoadMs);
    worker.onerror = () => end();
    worker.onmessage = ({ data }: MessageEvent<"started" | readonly FormProblem[] | undefined>) => {
      if (data !== "started") return end(data);
      clearTimeout(timer);
      timer = setTimeout(end, maxMs);
    };
    worker.postMessage({ schema, value });
  });
}
