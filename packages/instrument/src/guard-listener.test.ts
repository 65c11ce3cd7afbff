import { once } from "node:events";
import { expect, test } from "vitest";
import { guardListener } from "./guard-listener.js";
import { collectWarnings } from "./warnings.test.helper.js";

test("warns once for each source, so that one warning does not hide another", async () => {
  const messages = collectWarnings();
  const failing = (): void => {
    throw new Error("unknown event");
  };
  for (const what of ["First source.", "Second source.", "First source."]) guardListener(failing, what)();
  process.emitWarning("last");
  while (!messages.includes("last")) await once(process, "warning");
  expect(messages).toEqual(["First source. unknown event", "Second source. unknown event", "last"]);
});
