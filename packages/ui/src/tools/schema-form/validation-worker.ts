import { validateValue } from "./validate-value.js";

// A worker: the page can end it if a pattern or a reference of the schema takes too long.
addEventListener("message", ({ data }: MessageEvent<{ readonly schema: unknown; readonly value: unknown }>) => {
  const { postMessage } = globalThis as unknown as { readonly postMessage: (message: unknown) => void };
  // The time that the page allows for the schema begins here.
  postMessage("started");
  try {
    postMessage(validateValue(data.schema, data.value));
  } catch {
    // The schema is invalid or refers to something that does not exist: the server decides.
    postMessage(undefined);
  }
});
