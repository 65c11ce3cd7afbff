import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { parseOptions } from "../../options.js";
import { upOptions } from "../up-options.js";
import { runStdio } from "./run-stdio.js";

test("responds to a request with the reason why no gateway could start, in one line and without secrets, before or after the failure", async () => {
  const home = mkdtempSync(join(tmpdir(), "wirescope-stdio-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  for (const isBefore of [true, false]) {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const request = `${JSON.stringify({ jsonrpc: "2.0", id: 7, method: "initialize", params: {} })}\n`;
    const written: string[] = [];
    let said = "";
    if (isBefore) input.write(request);
    const running = runStdio({
      files: [],
      values: parseOptions(upOptions, ["--stdio", "--standalone"]).values,
      io: { stdout: output, stderr: { write: (text) => (said += text) }, env: { HOME: home }, now: () => new Date() },
      input,
      output,
      stop: new AbortController().signal,
      runOwn: async () => {
        // The client is slow, or the gateway is.
        if (isBefore) await new Promise<void>((resolve) => void setImmediate(resolve));
        else setImmediate(() => input.write(request));
        throw new TypeError("The file has\na-secret-value in line 2.");
      },
      redact: (text) => text.replaceAll("a-secret-value", "[redacted]"),
      log: { note: (text) => (said += text), problem: (text) => (said += text) },
    });
    output.on("data", (chunk) => written.push(String(chunk)));
    await expect(running).rejects.toThrow("The file has\na-secret-value in line 2.");
    const message = "The gateway cannot start: The file has [redacted] in line 2.";
    expect(written.map((line) => JSON.parse(line))).toEqual([
      { jsonrpc: "2.0", id: 7, error: { code: -32_000, message } },
    ]);
    // The caller reports the failure.
    expect(said).toBe("");
  }
});
