import { expect, test } from "vitest";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { createStrayOutput } from "./stray-output.js";
import { defaultLimits, type TransportContext } from "./transport.js";

test("[TS-D-CONN-7] reads text with many lines that could end a message in linear time", () => {
  const secrets = createSecretRegistry();
  const context = { secrets, report() {}, limits: defaultLimits } as unknown as TransportContext;
  const stray = createStrayOutput(context, "its standard output", "");
  for (let line = 0; line < 9000; line += 1) stray.messagesIn("x".repeat(1000));
  const startedAt = performance.now();
  for (let line = 0; line < 1000; line += 1) expect(stray.messagesIn("}")).toEqual([]);
  // If each line parsed all lines before it, it would be more than ten seconds.
  expect(performance.now() - startedAt).toBeLessThan(5000);
});
