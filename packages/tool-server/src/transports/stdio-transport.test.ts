import { existsSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createEnvironmentCredential } from "../credentials/fixed-credential.js";
import type { ToolServerError } from "../errors.js";
import { type Clock, systemClock } from "../process/clock.js";
import { createFakeClock } from "../process/fake-clock.test.helper.js";
import { allGone, createScriptFolder, isRunning, wordsOf } from "../process/temporary-scripts.test.helper.js";
import { createLineReader } from "./stdio-lines.js";
import { createStdioTransport, type StdioContext, type StdioTransport } from "./stdio-transport.js";
import { defaultLimits } from "./transport.js";
import { createTestContext, listenTo, type Published } from "./transport-context.test.helper.js";
import { describeTransportContract } from "./transport-contract.test.helper.js";

const waiting = { timeout: 20_000, interval: 5 };

/** A child that passes on what it reads and writes what it is sent, so that the server can stand in the test. */
const relay = `
  const socket = require("node:net").connect(Number(process.argv[1]), "127.0.0.1");
  process.stdin.pipe(socket).pipe(process.stdout);
  socket.on("error", () => process.exit(1));
`;

describeTransportContract("stdio", {
  kind: "stdio",
  endsWithServer: true,
  async open(context, serve) {
    const sockets = new Set<Socket>();
    const server = await listening((socket) => {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => sockets.delete(socket));
      const write = (text: string): void => void socket.write(`${text}\n`);
      const reply = { send: (message: JSONRPCMessage) => write(JSON.stringify(message)), sendGarbage: write };
      const lines = createLineReader(
        defaultLimits.messageBytes,
        (line) => serve(JSON.parse(line), reply),
        () => {},
      );
      socket.on("data", (chunk) => lines.push(chunk));
    });
    const { port } = server.address() as { port: number };
    const args = ["-e", relay, String(port)];
    const transport = createStdioTransport({ ...context, command: process.execPath, args, environment: process.env });
    return {
      transport,
      kill: () => void process.kill(transport.pid ?? 0, "SIGKILL"),
      assertGone() {
        expect(transport.pid !== undefined && isRunning(transport.pid)).toBe(false);
        expect(sockets.size).toBe(0);
      },
    };
  },
});

async function listening(onSocket: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: false }, onSocket);
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

/** Time runs twenty times as fast, where nothing but the patience with a stubborn child is waited for. */
const hasty = { clock: createHastyClock(20) };

function createHastyClock(factor: number): Clock {
  const startedAt = Date.now();
  return {
    now: () => startedAt + (Date.now() - startedAt) * factor,
    after: (delayMs, wake) => systemClock.after(delayMs / factor, wake),
  };
}

interface Subject {
  readonly transport: StdioTransport;
  readonly messages: JSONRPCMessage[];
  readonly published: Published;
  closings(): number;
  /** How it ended, once it did. */
  failure(): Promise<ToolServerError>;
}

type Changes = Partial<StdioContext> & { readonly secrets?: never; readonly secret?: string };

/** A transport to a command, which is not started yet. */
function prepare(command: string, { secret, ...changes }: Changes = {}): Subject {
  const context = createTestContext("stdio", changes);
  if (secret !== undefined) context.secrets.add(secret);
  const transport = createStdioTransport({ args: [], environment: process.env, ...changes, ...context, command });
  const published = listenTo(context.facts);
  const messages: JSONRPCMessage[] = [];
  let closings = 0;
  transport.onmessage = (message) => messages.push(message);
  transport.onclose = () => {
    closings += 1;
  };
  onTestFinished(() => transport.close());
  return {
    transport,
    messages,
    published,
    closings: () => closings,
    failure: () =>
      vi.waitFor(() => {
        expect(closings).toBe(1);
        if (transport.failure === undefined) throw new Error("closed without a failure");
        return transport.failure;
      }, waiting),
  };
}

/** A transport to a shell script, started. */
async function startShell(body: string, changes: Changes = {}): Promise<Subject & { readonly folder: string }> {
  const folder = await createScriptFolder();
  const subject = prepare(await folder.sh(body), { cwd: folder.path, ...changes });
  await subject.transport.start();
  return { ...subject, folder: folder.path };
}

/** A transport to a script for Node, started. */
async function startNode(body: string, changes: Changes = {}): Promise<Subject & { readonly folder: string }> {
  const folder = await createScriptFolder();
  const subject = prepare(await folder.node(body), { cwd: folder.path, ...changes });
  await subject.transport.start();
  return { ...subject, folder: folder.path };
}

const request = (id: number | string, params: Record<string, unknown> = {}): JSONRPCMessage => ({
  jsonrpc: "2.0",
  id,
  method: "test/any",
  params,
});

describe("a stdio server is started", () => {
  test("[TS-STDIO-4] with command, args and the variables of env", async () => {
    const folder = await createScriptFolder();
    const script = await folder.node(`
      const { argv, env } = process;
      console.log(JSON.stringify({ jsonrpc: "2.0", method: "test/told", params: { args: argv.slice(2), env, cwd: process.cwd() } }));
      process.stdin.resume();
    `);
    const credential = createEnvironmentCredential({
      server: "notes",
      secrets: { add() {}, redact: (text) => text },
      env: [
        { name: "DATABASE_URL", value: "postgres://db", variables: ["DATABASE_URL"] },
        { name: "DB_PASSWORD", value: "p4ssw0rd-of-db", variables: ["DB_PASSWORD"] },
      ],
    });
    const { transport, messages } = prepare(script, {
      args: ["--mode", "a b", "$HOME", "*"],
      cwd: folder.path,
      credential,
      environment: {
        PATH: "/usr/bin:/bin",
        HOME: "/home/me",
        GITHUB_TOKEN: "not-for-it",
        NODE_OPTIONS: "--no-warnings",
      },
    });
    await transport.start();
    await vi.waitFor(() => expect(messages).toHaveLength(1), waiting);
    const { args, env, cwd } = (messages[0] as { params: Record<string, unknown> }).params;
    expect(args).toEqual(["--mode", "a b", "$HOME", "*"]);
    expect(cwd).toBe(folder.path);
    expect(env).toEqual({
      PATH: "/usr/bin:/bin",
      HOME: "/home/me",
      DATABASE_URL: "postgres://db",
      DB_PASSWORD: "p4ssw0rd-of-db",
      ...(process.platform === "linux" ? { WIRESCOPE_WATCHDOG: expect.any(String) } : {}),
    });
  });

  test("or says which PATH was searched where the command is not found, and what to do (failure 33)", async () => {
    const { transport, closings } = prepare("npx-that-is-nowhere", {
      environment: { PATH: "/usr/gui/bin:/opt/gui:relative" },
    });
    const error = await transport.start().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "ToolServerError", code: "CHILD_NOT_RUNNABLE" });
    expect(String(error)).toContain(
      'The server "notes" cannot be started: npx-that-is-nowhere was not found (PATH searched: /usr/gui/bin:/opt/gui). Install it, or write its full path',
    );
    expect(transport.failure).toBe(error);
    expect(closings()).toBe(1);
    await transport.close();
    expect(closings()).toBe(1);
    await expect(transport.send(request(1))).rejects.toMatchObject({ code: "CONNECTION_LOST", cause: error });
  });

  test("or says that the file is not executable, or its folder or interpreter not there", async () => {
    const { path, sh } = await createScriptFolder();
    const script = await sh("exit 0");
    const orphan = await sh("", "orphan.sh");
    const { chmod, writeFile } = await import("node:fs/promises");
    await chmod(script, 0o644);
    await writeFile(orphan, "#!/nowhere/interpreter\n");
    for (const [subject, words] of [
      [prepare(script), "is not executable"],
      [prepare(orphan), "the interpreter that"],
      [prepare("/bin/sh", { cwd: join(path, "none") }), "its working directory"],
      [prepare("/bin/sh", { args: ["\0"] }), "a NUL character"],
    ] as const) {
      await expect(subject.transport.start()).rejects.toMatchObject({
        code: "CHILD_NOT_RUNNABLE",
        message: expect.stringContaining(words),
      });
    }
  });

  test("only once, and nothing is sent before", async () => {
    const { transport } = prepare("/bin/cat");
    await expect(transport.send(request(1))).rejects.toBeInstanceOf(TypeError);
    await transport.start();
    await expect(transport.start()).rejects.toBeInstanceOf(TypeError);
    await transport.send(request(1));
  });

  test("and is gone where it is closed in the midst of its start", async () => {
    const folder = await createScriptFolder();
    const script = await folder.sh("echo $$ >> pids; exec cat");
    for (let turns = 0; turns < 12; turns += 1) {
      const { transport, closings } = prepare(script, { cwd: folder.path });
      const starting = transport.start().catch((error: unknown) => error);
      for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      await transport.close();
      expect(closings()).toBe(1);
      expect(isRunning(transport.pid ?? "none")).toBe(false);
      expect([undefined, "CONNECTION_CLOSED"]).toContain(((await starting) as ToolServerError | undefined)?.code);
    }
    const pids = existsSync(join(folder.path, "pids")) ? await wordsOf(join(folder.path, "pids")) : [];
    expect(pids.filter(isRunning)).toEqual([]);
  });
});

describe("a child that ends", () => {
  test("at its start, shows its exit code and the last of its standard error (failure 34)", async () => {
    const { transport, failure, published } = await startShell(
      'for n in 1 2 3 4 5 6 7 8; do echo "line $n" >&2; done; printf "Error: no \\033[31mDATABASE_URL\\n" >&2; exit 3',
    );
    const hanging = transport.send(request(1)).catch((error: unknown) => error);
    const error = await failure();
    await hanging;
    expect(error).toMatchObject({ code: "CHILD_EXITED", details: { exit: { kind: "exited", code: 3 } } });
    expect(error.message).toBe(
      `The server "notes" (process ${transport.pid}) exited with code 3 before it answered. The last of its standard error: "line 5 | line 6 | line 7 | line 8 | Error: no \\x1b[31mDATABASE_URL". Run the command by hand to see why.`,
    );
    expect(error.details.stderr).toHaveLength(9);
    await vi.waitFor(() => {
      expect(published.stories.at(-1)).toMatchObject({
        severity: "error",
        text: `Process ${transport.pid} exited with code 3. Its last line: "Error: no \\x1b[31mDATABASE_URL".`,
      });
    }, waiting);
    expect(published.reasons).toEqual([error.message]);
  });

  test("with code 0 and without a word, is told what a server does", async () => {
    const { failure } = await startShell("exit 0");
    expect((await failure()).message).toContain("exited with code 0 before it answered. It wrote nothing");
    expect((await failure()).message).toContain("check that command and args start one");
  });

  test("by a signal, is told by it", async () => {
    const { failure } = await startShell("kill -s SEGV $$");
    expect(await failure()).toMatchObject({ details: { exit: { kind: "signalled", signal: "SIGSEGV" } } });
  });

  test("has its last answers and words read, also one without an end of line", async () => {
    const answers = Array.from({ length: 50 }, (_, id) =>
      JSON.stringify({ jsonrpc: "2.0", id, result: { text: "x".repeat(1000) } }),
    );
    const { transport, messages, failure } = await startNode(`
      process.stdin.once("data", () => {
        require("node:fs").writeSync(1, ${JSON.stringify(answers.join("\n"))});
        require("node:fs").writeSync(2, "last words");
        process.exit(1);
      });
    `);
    await transport.send(request(1));
    // Nothing is read until it has ended, so that its end and its words are there at once.
    while (isRunning(transport.pid ?? 0));
    const error = await failure();
    expect(messages).toHaveLength(50);
    expect(error.message).toContain('exited with code 1. The last of its standard error: "last words".');
  });

  test("and leaves a child behind that holds its pipes, does not keep its callers waiting, and the child is ended", async () => {
    const { transport, failure, folder } = await startShell(
      `(trap "" TERM; echo $$ > mine; exec sleep 1000) & echo $! > pid; while [ ! -s mine ]; do sleep 0.01; done; exit 4`,
      hasty,
    );
    expect(await failure()).toMatchObject({ code: "CHILD_EXITED" });
    await transport.close();
    expect((await wordsOf(join(folder, "pid"))).map(isRunning)).toEqual([false]);
  });

  test("tells no secret that it printed (failure 38)", async () => {
    const secret = "s3cr3t-t0ken-of-notes";
    const body = `echo "bad token ${secret}" >&2; echo "token ${secret} at stdout"; exit 1`;
    const { failure, published } = await startShell(body, { secret });
    const error = await failure();
    expect(error.message).toContain("bad token [redacted]");
    expect(error.message).toContain("token [redacted] at stdout");
    expect(JSON.stringify([error.message, error.details, published.words()])).not.toContain(secret);
  });
});

describe("a child that is closed", () => {
  test("takes with it all that it started, also behind a shell (failure 32)", async () => {
    const { transport, folder } = await startShell(
      `/bin/sh -c 'echo $$ >> pids; sleep 1000; :' & echo $$ >> pids; cat; wait`,
      hasty,
    );
    const pids = await wordsOf(join(folder, "pids"), 2);
    await transport.close();
    expect(pids.map(isRunning)).toEqual([false, false]);
  });

  test("ends by itself once its standard input is closed, where it does so", async () => {
    const { transport, published, folder } = await startShell(
      'cat > /dev/null; echo done > done; echo "bye" >&2; exit 0',
    );
    await transport.close();
    expect(await wordsOf(join(folder, "done"))).toEqual(["done"]);
    expect(published.stories.at(-1)).toMatchObject({
      severity: "info",
      text: `Process ${transport.pid} exited with code 0. Its last line: "bye".`,
    });
    expect(published.reasons).toEqual(["Closed on this side."]);
  });

  test("is killed where it heeds neither the end of its input nor TERM", async () => {
    const { transport, folder } = await startShell('trap "" TERM; echo $$ > pid; while :; do sleep 0.05; done', hasty);
    const pids = await wordsOf(join(folder, "pid"));
    await transport.close();
    expect(pids.map(isRunning)).toEqual([false]);
  });
});

describe("a child that goes on without us", () => {
  test("is ended where it closed its standard output", async () => {
    const { transport, failure, folder } = await startShell(
      "echo $$ > pid; exec >&-; cat > /dev/null; sleep 1000",
      hasty,
    );
    expect(await failure()).toMatchObject({
      code: "CONNECTION_LOST",
      message: expect.stringContaining("closed its standard output, went on running, and was ended"),
    });
    await transport.close();
    expect((await wordsOf(join(folder, "pid"))).map(isRunning)).toEqual([false]);
  });

  test("is ended where it closed its standard input, and who sends is told", async () => {
    const { transport, failure, folder } = await startShell("exec <&-; echo $$ > pid; sleep 1000", hasty);
    const pids = await wordsOf(join(folder, "pid"));
    const error = await transport.send(request(1)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "CONNECTION_LOST", details: { wasSent: true } });
    expect(await failure()).toMatchObject({ message: expect.stringContaining("closed its standard input") });
    await allGone(pids);
  });
});

describe("what a child writes", () => {
  const small = { limits: { ...defaultLimits, messageBytes: 100_000 } };

  test("may be a line of 10 MB", async () => {
    const { messages } = await startNode(`
      const text = "x".repeat(10_000_000);
      process.stdout.write(JSON.stringify({ jsonrpc: "2.0", method: "test/large", params: { text } }) + "\\n");
      process.stdin.resume();
    `);
    await vi.waitFor(() => expect(messages).toHaveLength(1), waiting);
    expect((messages[0] as unknown as { params: { text: string } }).params.text).toHaveLength(10_000_000);
  });

  test("is no message where a line is larger than the limit: then the child is ended in order", async () => {
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

  test("beside messages is told once, escaped, and borne", async () => {
    const { transport, messages, published } = await startShell(
      `printf 'Listening \\033[1mnow\\n\\nSecond line\\n'; while read line; do echo "debug: got it"; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; done`,
    );
    await transport.send(request(1));
    await vi.waitFor(() => expect(messages).toHaveLength(1), waiting);
    const warnings = published.stories.filter(({ severity }) => severity === "warning");
    expect(warnings.map(({ text }) => text)).toEqual([
      'The server wrote to its standard output what is no message of the protocol: "Listening \\x1b[1mnow". A server writes its log to standard error.',
    ]);
    expect(transport.failure).toBeUndefined();
    expect(transport.strays()).toBe("");
  });

  test("in place of an answer stands in the failure", async () => {
    const { transport, failure } = await startShell(
      'echo "usage: server [--port n]"; echo "  --port"; read line; exit 2',
    );
    await vi.waitFor(() => expect(transport.strays()).toContain("2 texts"), waiting);
    expect(transport.strays()).toContain('beginning with "usage: server [--port n]". A server');
    await transport.send(request(1));
    expect((await failure()).message).toContain("It never answered, but wrote 2 texts that are no message");
  });

  test("after a message counts from that one on", async () => {
    const { transport, messages } = await startShell(
      `echo "hello"; read line; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; read line; echo "TypeError: x"; read line`,
    );
    await vi.waitFor(() => expect(transport.strays()).toContain('"hello"'), waiting);
    await transport.send(request(1));
    await vi.waitFor(() => expect(messages).toHaveLength(1), waiting);
    expect(transport.strays()).toBe("");
    await transport.send(request(2));
    await vi.waitFor(() => expect(transport.strays()).not.toBe(""), waiting);
    expect(transport.strays()).toBe(
      'Since its last message it wrote text that is no message of the protocol to its standard output, beginning with "TypeError: x". A server writes its log to standard error.',
    );
  });

  test("without an end and without a message is no tool server", async () => {
    const { failure, transport } = await startShell("exec yes 'not a message'", { ...small, ...hasty });
    expect(await failure()).toMatchObject({
      code: "NOT_A_TOOL_SERVER",
      message: expect.stringContaining('beginning with "not a message'),
    });
    await transport.close();
    expect(isRunning(transport.pid ?? 0)).toBe(false);
  });

  test("may be a batch", async () => {
    const { messages } = await startShell(
      `echo '[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"test/noted"}]'; cat > /dev/null`,
    );
    await vi.waitFor(() => expect(messages).toHaveLength(2), waiting);
  });
});

describe("what is sent to a child", () => {
  test("counts as sent only once it is written, and waits for a child that reads slowly", async () => {
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
    const sending = transport.send(request(1, { text: "x".repeat(8_000_000) })).then(() => {
      isSent = true;
    });
    // What the child writes meanwhile passes through as many turns of the loop as a written message would need.
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(isSent).toBe(false);
    const { writeFile } = await import("node:fs/promises");
    await writeFile(join(folder, "go"), "");
    await sending;
    await vi.waitFor(() => expect(messages).toHaveLength(1), waiting);
  });

  test("and is being written when the child dies, or is closed, is rejected", async () => {
    const large = request(1, { text: "x".repeat(8_000_000) });
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

  test("right before the end still reaches the child", async () => {
    const { transport, folder } = await startShell("cat > heard");
    const sent = transport.send({ jsonrpc: "2.0", method: "notifications/last" }).catch(() => {});
    await transport.close();
    await sent;
    expect((await wordsOf(join(folder, "heard"))).join(" ")).toContain("notifications/last");
  });

  test("and called off is a stream that failed", async () => {
    const { transport, published } = await startShell("cat > /dev/null");
    await transport.send(request("a"));
    await transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "a" } });
    expect(published.totals()).toMatchObject({ "stream-started": 1, "stream-failed": 1, "message-sent": 2 });
    await transport.close();
    expect(published.totals()).toMatchObject({ "stream-started": 1, "stream-failed": 1, closed: 1 });
  });
});

test("time stands still, and a child that ended is told all the same", async () => {
  const { failure } = await startShell("exit 7", { clock: createFakeClock() });
  expect(await failure()).toMatchObject({ details: { exit: { kind: "exited", code: 7 } } });
});
