import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { guardListener } from "./guard-listener.js";

test("warns once for each source, so that one warning does not hide another", async () => {
  const messages: string[] = [];
  const onWarning = ({ message }: Error): void => void messages.push(message);
  // Replaces the listener that prints warnings, because these are expected.
  const printing = process.listeners("warning");
  process.removeAllListeners("warning").on("warning", onWarning);
  onTestFinished(() => {
    process.removeAllListeners("warning");
    for (const listener of printing) process.on("warning", listener);
  });
  const failing = (): void => {
    throw new Error("unknown event");
  };
  for (const what of ["First source.", "Second source.", "First source."]) guardListener(failing, what)();
  process.emitWarning("last");
  while (!messages.includes("last")) await once(process, "warning");
  expect(messages).toEqual(["First source. unknown event", "Second source. unknown event", "last"]);
});
