import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { isRunning, wordsOf } from "../../process/temporary-scripts.test.helper.js";
import { waiting } from "../../waiting.test.helper.js";
import { hasty, startNode, startShell } from "./stdio-child.test.helper.js";
import type { StdioTransport } from "./stdio-transport.js";
import { defaultLimits } from "./transport.js";
import { requestOf } from "./watched-transport.test.helper.js";

describe("the output of a child", () => {
  const small = { limits: { ...defaultLimits, messageBytes: 100_000 } };

  test("reads a line of 10 MB", async () => {
    const { messages } = await startNode(`
      const text = "x".repeat(10_000_000);
      process.stdout.write(JSON.stringify({ jsonrpc: "2.0", method: "test/large", params: { text } }) + "\\n");
      process.stdin.resume();
    `);
    await vi.waitFor(() => expect(messages).toHaveLength(1), waiting);
    expect((messages[0] as unknown as { params: { text: string } }).params.text).toHaveLength(10_000_000);
  });

  test("ends the child in order after a line that is larger than the limit", async () => {
    const { transport, failure, messages, folder } = await startNode(
      `
      process.stdout.write(JSON.stringify({ jsonrpc: "2.0", method: "test/large", params: { text: "x".repeat(100_000) } }) + "\\n");
      process.stdin.resume().on("end", () => require("node:fs").writeFileSync("ended", "orderly"));
      `,
      small,
    );
    expect(await failure()).toMatchObject({
      code: "MESSAGE_TOO_LARGE",
      message: expect.stringContaining("wrote a line of more than 100000 bytes"),
    });
    expect(messages).toEqual([]);
    await transport.close();
    expect(await wordsOf(join(folder, "ended"))).toEqual(["orderly"]);
  });

  test("[TS-D-CONN-7] fails at the limit of a line that is no response, although the line does not end", async () => {
    const { failure } = await startNode('process.stdout.write("x".repeat(200_000)); process.stdin.resume();', small);
    expect(await failure()).toMatchObject({ code: "MESSAGE_TOO_LARGE" });
  });

  test("reports other output between messages once, escaped, and tolerates it", async () => {
    const { transport, messages, published } = await startShell(
      `printf 'Listening \\033[1mnow\\n\\nSecond line\\n'; while read line; do echo "debug: got it"; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; done`,
    );
    await transport.send(requestOf(1));
    await vi.waitFor(() => expect(messages).toHaveLength(1), waiting);
    const warnings = published.traceEvents.filter(({ severity }) => severity === "warning");
    expect(warnings.map(({ text }) => text)).toEqual([
      'The server wrote text to its standard output that is not a protocol message: "Listening \\x1b[1mnow". A server writes its log to standard error.',
    ]);
    expect(transport.failure).toBeUndefined();
    expect(transport.strayOutput()).toBe("");
  });

  test("quotes output that came in place of a response in the failure", async () => {
    const { transport, failure } = await startShell(
      'echo "usage: server [--port n]"; echo "  --port"; read line; exit 2',
    );
    await vi.waitFor(() => expect(transport.strayOutput()).toContain("2 texts"), waiting);
    expect(transport.strayOutput()).toContain('starting with "usage: server [--port n]". A server');
    await transport.send(requestOf(1));
    expect((await failure()).message).toContain("It never responded, but wrote 2 texts that are not protocol messages");
  });

  test("quotes no secret that the server writes by itself", async () => {
    const key = `sk-live-${"a1B2".repeat(8)}`;
    const { transport } = await startShell(`echo "using ${key}"; read line`);
    await vi.waitFor(() => expect(transport.strayOutput()).toContain('starting with "using [redacted]"'), waiting);
  });

  test("counts other output since the last message only", async () => {
    const { transport, messages } = await startShell(
      `echo "hello"; read line; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; read line; echo "TypeError: x"; read line`,
    );
    await vi.waitFor(() => expect(transport.strayOutput()).toContain('"hello"'), waiting);
    await transport.send(requestOf(1));
    await vi.waitFor(() => expect(messages).toHaveLength(1), waiting);
    expect(transport.strayOutput()).toBe("");
    await transport.send(requestOf(2));
    await vi.waitFor(() => expect(transport.strayOutput()).not.toBe(""), waiting);
    expect(transport.strayOutput()).toBe(
      'Since its last message it wrote text that is not a protocol message to its standard output, starting with "TypeError: x". A server writes its log to standard error.',
    );
  });

  test("reports endless output without a message as not a tool server", async () => {
    const { failure, transport } = await startShell("exec yes 'not a message'", { ...small, ...hasty });
    expect(await failure()).toMatchObject({
      code: "NOT_A_TOOL_SERVER",
      message: expect.stringContaining('starting with "not a message'),
    });
    await transport.close();
    expect(isRunning(transport.pid ?? 0)).toBe(false);
  });

  test("reads a batch from a child", async () => {
    const { messages } = await startShell(
      `echo '[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"test/noted"}]'; cat > /dev/null`,
    );
    await vi.waitFor(() => expect(messages).toHaveLength(2), waiting);
  });
});

describe("messages to a child", () => {
  test("writes a single request at once, and requests that join others at the end of the turn", async () => {
    const { transport } = await startShell("while read line; do :; done");
    const send = async (id: number): Promise<readonly string[]> => {
      const order: string[] = [];
      const turn = new Promise<void>((resolve) =>
        setImmediate(() => {
          order.push("turn ended");
          resolve();
        }),
      );
      const written = transport.send(requestOf(id)).then(() => order.push("written"));
      await Promise.all([turn, written]);
      return order;
    };
    expect(await send(1)).toEqual(["written", "turn ended"]);
    expect(await send(2)).toEqual(["turn ended", "written"]);
  });

  test("counts a message as sent only once it is written, and waits for a child that reads slowly", async () => {
    const { transport, folder, messages } = await startNode(`
      const { existsSync } = require("node:fs");
      const looking = setInterval(() => {
        if (!existsSync("go")) return;
        clearInterval(looking);
        let size = 0;
        process.stdin.on("data", (chunk) => {
          size += chunk.length;
          if (chunk.at(-1) === 10) console.log(JSON.stringify({ jsonrpc: "2.0", method: "test/read", params: { size } }));
        });
      }, 5);
    `);
    let isSent = false;
    const sending = transport.send(requestOf(1, { text: "x".repeat(8_000_000) })).then(() => {
      isSent = true;
    });
    // The output of the child takes as many turns of the event loop as a written message would need.
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(isSent).toBe(false);
    await writeFile(join(folder, "go"), "");
    await sending;
    await vi.waitFor(() => expect(messages).toHaveLength(1), waiting);
  });

  test("rejects a message that is being written when the child dies or is closed", async () => {
    const large = requestOf(1, { text: "x".repeat(8_000_000) });
    for (const [end, code] of [
      [({ pid }: StdioTransport) => process.kill(pid ?? 0, "SIGKILL"), "CONNECTION_LOST"],
      [(transport: StdioTransport) => transport.close(), "CONNECTION_CLOSED"],
    ] as const) {
      const { transport, published } = await startShell("sleep 1000", hasty);
      const sending = expect(transport.send(large)).rejects.toMatchObject({ code, details: { wasSent: true } });
      await end(transport);
      await sending;
      expect(published.totals()).toMatchObject({ "message-sent": 0, "stream-started": 1, "stream-failed": 1 });
    }
  });

  test("delivers a message that is sent right before the end", async () => {
    const { transport, folder } = await startShell("cat > heard");
    const sent = transport.send({ jsonrpc: "2.0", method: "notifications/last" }).catch(() => {});
    await transport.close();
    await sent;
    expect((await wordsOf(join(folder, "heard"))).join(" ")).toContain("notifications/last");
  });

  test("counts a cancelled request as a failed stream", async () => {
    const { transport, published } = await startShell("cat > /dev/null");
    await transport.send(requestOf("a"));
    await transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "a" } });
    expect(published.totals()).toMatchObject({ "stream-started": 1, "stream-failed": 1, "message-sent": 2 });
    await transport.close();
    expect(published.totals()).toMatchObject({ "stream-started": 1, "stream-failed": 1, closed: 1 });
  });
});
