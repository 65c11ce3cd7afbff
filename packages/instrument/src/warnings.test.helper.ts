import { onTestFinished } from "vitest";

/** Collects the messages of warnings until the test ends, instead of printing them. */
export function collectWarnings(): string[] {
  const messages: string[] = [];
  const printing = process.listeners("warning");
  process.removeAllListeners("warning").on("warning", ({ message }) => void messages.push(message));
  onTestFinished(() => {
    process.removeAllListeners("warning");
    for (const listener of printing) process.on("warning", listener);
  });
  return messages;
}
