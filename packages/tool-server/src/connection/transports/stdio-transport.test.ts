import { existsSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { createEnvironmentCredential } from "../../auth/credentials/fixed-credential.js";
import type { ToolServerError } from "../../errors.js";
import { createFakeClock } from "../../fake-clock.test.helper.js";
import { allGone, createScriptFolder, isRunning, wordsOf } from "../../process/temporary-scripts.test.helper.js";
import { waiting } from "../../waiting.test.helper.js";
import { hasty, prepareChild, startNode, startShell } from "./stdio-child.test.helper.js";
import { requestOf } from "./watched-transport.test.helper.js";

describe("the start of a stdio server", () => {
  test("[TS-STDIO-4] starts a server with command, args and the variables of env", async () => {
    const folder = await createScriptFolder();
    const script = await folder.node(`
      const { argv, env } = process;
      console.log(JSON.stringify({ jsonrpc: "2.0", method: "test/started", params: { args: argv.slice(2), env, cwd: process.cwd() } }));
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
    const { transport, messages } = prepareChild(script, {
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

  test("says which PATH was searched if the command is not found, and what to do (failure 33)", async () => {
    const { transport, closings } = prepareChild("npx-that-is-nowhere", {
      environment: { PATH: "/usr/gui/bin:/opt/gui:relative" },
    });
    const error = await transport.start().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "ToolServerError", code: "CHILD_NOT_RUNNABLE" });
    expect(String(error)).toContain(
      'The server "notes" cannot be started: npx-that-is-nowhere was not found. PATH searched: /usr/gui/bin:/opt/gui. Install it, or use its full path',
    );
    expect(transport.failure).toBe(error);
    expect(closings()).toBe(1);
    await transport.close();
    expect(closings()).toBe(1);
    await expect(transport.send(requestOf(1))).rejects.toMatchObject({ code: "CONNECTION_LOST", cause: error });
  });

  test("names the path of a command that does not exist once, and refers to no configuration", async () => {
    const error = await prepareChild("/nowhere/server").transport.start().catch(String);
    expect(error).toBe(
      'ToolServerError: The server "notes" cannot be started: /nowhere/server was not found. Check the path of the command.',
    );
  });

  test("says that the file is not executable, or that its folder or interpreter is missing", async () => {
    const { path, sh } = await createScriptFolder();
    const script = await sh("exit 0");
    const orphan = await sh("", "orphan.sh");
    await chmod(script, 0o644);
    await writeFile(orphan, "#!/nowhere/interpreter\n");
    for (const [subject, words] of [
      [prepareChild(script), "is not executable"],
      [prepareChild(orphan), "the interpreter that"],
      [prepareChild("/bin/sh", { cwd: join(path, "none") }), "its working directory"],
      [prepareChild("/bin/sh", { args: ["\0"] }), "a NUL character"],
    ] as const) {
      await expect(subject.transport.start()).rejects.toMatchObject({
        code: "CHILD_NOT_RUNNABLE",
        message: expect.stringContaining(words),
      });
    }
  });

  test("starts only once, and sends nothing before", async () => {
    const { transport } = prepareChild("/bin/cat");
    await expect(transport.send(requestOf(1))).rejects.toBeInstanceOf(TypeError);
    await transport.start();
    await expect(transport.start()).rejects.toBeInstanceOf(TypeError);
    await transport.send(requestOf(1));
  });

  test("leaves no process behind if it is closed during its start", async () => {
    const folder = await createScriptFolder();
    const script = await folder.sh("echo $$ >> pids; exec cat");
    for (let turns = 0; turns < 12; turns += 1) {
      const { transport, closings } = prepareChild(script, { cwd: folder.path });
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
  test("reports the exit code and the last lines of standard error if a child exits at its start (failure 34)", async () => {
    const { transport, failure, published } = await startShell(
      'for n in 1 2 3 4 5 6 7 8; do echo "line $n" >&2; done; printf "Error: no \\033[31mDATABASE_URL\\n" >&2; exit 3',
    );
    const hanging = transport.send(requestOf(1)).catch((error: unknown) => error);
    const error = await failure();
    await hanging;
    expect(error).toMatchObject({ code: "CHILD_EXITED", details: { exit: { kind: "exited", code: 3 } } });
    expect(error.message).toBe(
      `The server "notes" (process ${transport.pid}) exited with code 3 before it responded. Last lines of its standard error: "line 5 | line 6 | line 7 | line 8 | Error: no \\x1b[31mDATABASE_URL". Run the command in a terminal to see why.`,
    );
    expect(error.details.stderr).toHaveLength(9);
    await vi.waitFor(() => {
      expect(published.traceEvents.at(-1)).toMatchObject({
        severity: "error",
        text: `Process ${transport.pid} exited with code 3. Its last line: "Error: no \\x1b[31mDATABASE_URL".`,
      });
    }, waiting);
    expect(published.reasons).toEqual([error.message]);
  });

  test("gives advice about what a server does if a child exits with code 0 and without output", async () => {
    const { failure } = await startShell("exit 0");
    expect((await failure()).message).toContain("exited with code 0 before it responded. It wrote nothing");
    expect((await failure()).message).toContain("check that command and args start one");
  });

  test("reports the signal that ended a child", async () => {
    const { failure } = await startShell("kill -s SEGV $$");
    expect(await failure()).toMatchObject({ details: { exit: { kind: "signalled", signal: "SIGSEGV" } } });
  });

  test("suggests the memory limit as the reason if a child was killed", async () => {
    const { failure } = await startShell("kill -s KILL $$");
    expect(await failure()).toMatchObject({ advice: expect.stringContaining("may have exceeded a memory limit") });
  });

  test("reads the last responses and lines of a child that ended, also one without an end of line", async () => {
    const responses = Array.from({ length: 50 }, (_, id) =>
      JSON.stringify({ jsonrpc: "2.0", id, result: { text: "x".repeat(1000) } }),
    );
    const { transport, messages, failure } = await startNode(`
      process.stdin.once("data", () => {
        require("node:fs").writeSync(1, ${JSON.stringify(responses.join("\n"))});
        require("node:fs").writeSync(2, "last words");
        process.exit(1);
      });
    `);
    await transport.send(requestOf(1));
    // Nothing is read until it has exited, so that its exit and its output arrive at once.
    while (isRunning(transport.pid ?? 0));
    const error = await failure();
    expect(messages).toHaveLength(50);
    expect(error.message).toContain('exited with code 1. Last lines of its standard error: "last words".');
  });

  test("does not keep callers waiting for an orphan that holds the pipes of a child, and ends it", async () => {
    const { transport, failure, folder } = await startShell(
      `(trap "" TERM; echo $$ > mine; exec sleep 1000) & echo $! > pid; while [ ! -s mine ]; do sleep 0.01; done; exit 4`,
      hasty,
    );
    expect(await failure()).toMatchObject({ code: "CHILD_EXITED" });
    await transport.close();
    await allGone(await wordsOf(join(folder, "pid")));
  });

  test("reports no secret that a child printed (failure 38)", async () => {
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
  test("ends everything that a child started, also behind a shell (failure 32)", async () => {
    const { transport, folder } = await startShell(
      `/bin/sh -c 'echo $$ >> pids; sleep 1000; :' & echo $$ >> pids; cat; wait`,
      hasty,
    );
    const pids = await wordsOf(join(folder, "pids"), 2);
    await transport.close();
    await allGone(pids);
  });

  test("lets a child end by itself once its standard input is closed", async () => {
    const { transport, published, folder } = await startShell(
      'cat > /dev/null; echo done > done; echo "bye" >&2; exit 0',
    );
    await transport.close();
    expect(await wordsOf(join(folder, "done"))).toEqual(["done"]);
    expect(published.traceEvents.at(-1)).toMatchObject({
      severity: "info",
      text: `Process ${transport.pid} exited with code 0. Its last line: "bye".`,
    });
    expect(published.reasons).toEqual(["Closed on this side."]);
  });

  test("kills a child that reacts neither to the end of its input nor to TERM", async () => {
    const { transport, folder } = await startShell('trap "" TERM; echo $$ > pid; while :; do sleep 0.05; done', hasty);
    const pids = await wordsOf(join(folder, "pid"));
    await transport.close();
    expect(pids.map(isRunning)).toEqual([false]);
  });
});

describe("a child that closes its pipes", () => {
  test("ends a child that closed its standard output", async () => {
    const { transport, failure, folder } = await startShell(
      "echo $$ > pid; exec >&-; cat > /dev/null; sleep 1000",
      hasty,
    );
    expect(await failure()).toMatchObject({
      code: "CONNECTION_LOST",
      message: expect.stringContaining("closed its standard output, kept running, and was terminated"),
    });
    await transport.close();
    expect((await wordsOf(join(folder, "pid"))).map(isRunning)).toEqual([false]);
  });

  test("ends a child that closed its standard input, and rejects the message to it", async () => {
    const { transport, failure, folder } = await startShell("exec <&-; echo $$ > pid; sleep 1000", hasty);
    const pids = await wordsOf(join(folder, "pid"));
    const error = await transport.send(requestOf(1)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "CONNECTION_LOST", details: { wasSent: true } });
    expect(await failure()).toMatchObject({ message: expect.stringContaining("closed its standard input") });
    await allGone(pids);
  });
});

test("reports a child that ended even if the clock does not move", async () => {
  const { failure } = await startShell("exit 7", { clock: createFakeClock() });
  expect(await failure()).toMatchObject({ details: { exit: { kind: "exited", code: 7 } } });
});
