import { validateValue } from "./validate-value.js";

// A worker, because the page can terminate it if a pattern or a reference in the schema takes too long.
addEventListener("message", ({ data }: MessageEvent<{ readonly schema: unknown; readonly value: unknown }>) => {
  const { postMessage } = globalThis as unknown as { readonly postMessage: (message: unknown) => void };
  // The page's time limit for the schema starts here.
  postMessage("started");
  try {
    postMessage(validateValue(data.schema, data.value));
  } catch {
    // The schema is invalid or refers to something that does not exist: the server decides.
    postMessage(undefined);
  }
});
