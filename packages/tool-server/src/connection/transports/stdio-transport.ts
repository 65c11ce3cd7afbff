import { waitAtMost } from "../../clock.js";
import type { ChildProcessInfo } from "../../connection-info.js";
import { publish } from "../../diagnostics.js";
import { ToolServerError } from "../../errors.js";
import type { Mutable } from "../../mutable.js";
import { childEnvironment, type Environment } from "../../process/child-environment.js";
import { describeOutcome, type ProcessExit } from "../../process/process-outcome.js";
import type { Sandbox } from "../../process/sandbox.js";
import { type RunningProcess, startProcess } from "../../process/start-process.js";
import type { Excerpt } from "../../skipped-bytes.js";
import { createLineReader } from "../rpc/lines.js";
import { fixResponse } from "../rpc/message.js";
import { createJsonRpcStreams, type JsonRpcStreams } from "./json-rpc-streams.js";
import { failOversized, mayBeResponse } from "./oversized-response.js";
import { createReplyQueue } from "./reply-queue.js";
import { type ChildDefect, childExited, childNotRunnable, childUnusable } from "./stdio-failures.js";
import { createLineWriter, type LineWriter } from "./stdio-writer.js";
import { createStrayOutput } from "./stray-output.js";
import type { ToolTransport, TransportContext } from "./transport.js";
import { connectionOver, createTransportLife, deliver } from "./transport-life.js";
import { createWriteBacklog } from "./write-backlog.js";

export interface StdioContext extends TransportContext {
  /** The program: a path, or a name that is searched in PATH. It is not parsed by a shell. */
  readonly command: string;
  readonly args: readonly string[];
  /** The working directory. Default: that of this process. */
  readonly cwd?: string | undefined;
  /** The user's environment. The child gets the variables of it that every child gets, and those of the credential. */
  readonly environment: Environment;
  /** Prepares the sandbox that hides files and processes from the child; rejects if it must not run without. Default: none. */
  readonly prepareSandbox?: (() => Promise<Sandbox | undefined>) | undefined;
}

/** A transport to a child process. The SDK recognizes it by `pid` and `stderr`, and probes the protocol version on it. */
export interface StdioTransport extends ToolTransport {
  readonly kind: "stdio";
  /** Undefined before the start. */
  readonly pid: number | undefined;
  /** The last lines of its standard error: redacted, escaped and bounded. */
  stderr(): readonly string[];
  /** Its stray output on standard output. */
  strayOutput(): string;
  /** The first text on its standard output that is not a message, quoted; undefined if there was none. */
  firstStrayOutput(): string | undefined;
}

/** A child process from its start on. */
interface Child {
  readonly running: RunningProcess;
  readonly socketInfo: ChildProcessInfo;
  readonly streams: JsonRpcStreams;
  readonly writer: LineWriter | undefined;
  /** Resolves when its exit was reported. */
  readonly exitHandled: Promise<void>;
}

/** How long a child whose pipe broke may take to exit before it is considered still running. */
const exitMs = 1000;
/** How long to wait for the remaining output of an exited child: its own children may keep the pipes open. */
const drainMs = 500;
const strayAdvice = "A server writes its log to standard error.";

/**
 * Creates a transport over the pipes of a child process, one message per line. `start` rejects with CHILD_NOT_RUNNABLE. `send`
 * resolves when the message is written. `close` ends the child and all processes that it started: it closes stdin, then sends TERM,
 * then KILL.
 *
 * It fails with CHILD_EXITED; with CONNECTION_LOST if the child closed a pipe or does not read, and still runs; with MESSAGE_TOO_LARGE, unless the line is
 * the response to a request, which then fails alone; and with NOT_A_TOOL_SERVER for too much output that is not a message.
 */
export function createStdioTransport(context: StdioContext): StdioTransport {
  const { server, info, secrets, report, clock, limits, command } = context;
  const life = createTransportLife(server);
  const cancelled = new AbortController();
  const strayOutput = createStrayOutput(context, "its standard output", strayAdvice);
  const replies = createReplyQueue(context, () => {
    const what = `sent requests, but did not read the responses for ${limits.stallMs / 1000} s`;
    fail("CONNECTION_LOST", what, "A stdio server has to read its standard input while it writes.");
  });
  const backlog = createWriteBacklog({
    server,
    clock,
    stallMs: limits.stallMs,
    waitingBytes: () => child?.running.stdin?.writableLength ?? 0,
    onStalled() {
      const what = `did not read its standard input for ${limits.stallMs / 1000} s`;
      fail("CONNECTION_LOST", what, "Check what the server is doing: it has to read while it handles calls.");
    },
  });
  let child: Child | undefined;
  let starting: Promise<void> | undefined;
  let hasExited = false;
  let hasSentMessage = false;
  let isSandboxed = false;

  /** Ends the transport, but not yet the child. */
  const end = (failure?: ToolServerError): void => {
    if (!life.end(failure)) return;
    transport.failure = failure;
    replies.end();
    backlog.end();
    if (child !== undefined) {
      child.streams.end();
      publish("socket:closed", { subject: child.socketInfo, reason: failure?.message ?? "Closed on this side." });
    }
    transport.onclose?.();
  };
  const childInfo = (running: RunningProcess) => ({
    server,
    child: `process ${running.pid}`,
    stderr: running.stderr(),
    strayOutput: strayOutput.describe(),
  });
  const fail = (code: ChildDefect, what: string, advice = ""): void => {
    if (life.isOver || child === undefined) return;
    const { running } = child;
    end(childUnusable(code, childInfo(running), what, advice));
    // Reading all that a server writes until it has ended would cost a core.
    running.stdout.pause();
    void running.end();
  };
  const onLine = (line: string): void => {
    if (life.isOver) return;
    const messages = strayOutput.messagesIn(line);
    if (messages === undefined) {
      const { framing } = strayOutput;
      if (framing === undefined)
        fail("NOT_A_TOOL_SERVER", "wrote too much to its standard output that is not a message");
      else fail("NOT_A_TOOL_SERVER", framing, "Fix the server: each message has to be one line of JSON.");
      return;
    }
    for (const message of messages) {
      hasSentMessage = true;
      child?.streams.received(message);
      deliver(transport, fixResponse(message));
    }
  };
  /** Fails the request whose response is too large. If that is not known, the transport fails. */
  const onTooLong = (line: Excerpt): void => {
    if (life.isOver) return;
    const id = failOversized(context, transport, line);
    if (id === undefined) {
      const what = `wrote a line of more than ${limits.messageBytes} bytes`;
      fail("MESSAGE_TOO_LARGE", what, "Ask the server for less, or raise the limit.");
      return;
    }
    hasSentMessage = true;
    child?.streams.skipped(id);
  };
  const onBrokenPipe = async (running: RunningProcess, pipe: "input" | "output"): Promise<void> => {
    await waitAtMost(clock, exitMs, running.exited);
    // The exit of the child says more.
    if (hasExited) return;
    const advice = "Check the server: a stdio server must keep both of its pipes open.";
    fail("CONNECTION_LOST", `closed its standard ${pipe}, kept running`, advice);
  };
  const onExit = async (running: RunningProcess, exit: ProcessExit, outputEnded: Promise<unknown>): Promise<void> => {
    hasExited = true;
    // Responses that it wrote before it ended are still delivered.
    await waitAtMost(clock, drainMs, Promise.all([running.ended, outputEnded]));
    const isOurs = life.isOver;
    if (!isOurs) end(childExited({ ...childInfo(running), exit, hasSentMessage, isSandboxed }));
    const lastLine = running.stderr().at(-1);
    const words = lastLine === undefined ? "" : ` Its last line: "${lastLine}".`;
    report(info, isOurs ? "info" : "error", `Process ${running.pid} ${describeOutcome(exit)}.${words}`);
    await running.ended;
    running.stdout.destroy();
  };
  const writerTo = (running: RunningProcess, { sent }: JsonRpcStreams): LineWriter | undefined => {
    const { stdin } = running;
    if (stdin === undefined) return undefined;
    const onBroken = (): void => void onBrokenPipe(running, "input");
    const onWritten = (lines: number): void => {
      backlog.written();
      sent(lines);
    };
    return createLineWriter({ stdin, life, onWritten, onBroken });
  };
  /** Reads the output of a child. Resolves when its exit was reported. */
  const follow = (running: RunningProcess): Promise<void> => {
    const { stdout } = running;
    // Only a response is skipped to its end, because it fails alone: another line may never end.
    const skip = (start: string): boolean => {
      if (mayBeResponse(start)) return true;
      onTooLong({ start, end: "" });
      return false;
    };
    const lines = createLineReader(limits.messageBytes, onLine, skip, onTooLong);
    // Read to the end unless the transport fails: a child that cannot write may not exit.
    stdout.on("data", (chunk: Buffer) => {
      if (life.isOver) return;
      lines.push(chunk);
      const room = replies.room();
      if (room === undefined) return;
      stdout.pause();
      void room.then(() => life.isOver || stdout.resume());
    });
    const outputEnded = new Promise<void>((resolve) => {
      stdout.once("close", resolve);
      stdout.once("end", () => {
        lines.end();
        resolve();
        void onBrokenPipe(running, "output");
      });
    });
    return running.exited.then((exit) => onExit(running, exit, outputEnded));
  };

  const open = async (): Promise<void> => {
    const failed = (error: unknown): never => {
      end(ToolServerError.is(error) ? error : undefined);
      throw error;
    };
    const sandbox = await context.prepareSandbox?.().catch(failed);
    const { credential } = context;
    const prepared = await credential.prepareEnvironment?.(cancelled.signal).catch(failed);
    isSandboxed = sandbox !== undefined;
    const started = await startProcess({
      command,
      args: context.args,
      cwd: context.cwd,
      env: childEnvironment(context.environment, command, prepared ?? credential.environment()),
      sandbox,
      redact: (text) => secrets.redact(text),
      signal: cancelled.signal,
      clock,
    });
    if (started.kind !== "running") {
      if (life.isOver) throw connectionOver(server, life.failure, false);
      const failure = childNotRunnable(server, command, started);
      end(failure);
      throw failure;
    }
    transport.pid = started.pid;
    if (life.isOver) {
      await started.end();
      throw connectionOver(server, life.failure, false);
    }
    const socketInfo: ChildProcessInfo = {
      kind: "child",
      transport: info,
      pid: started.pid,
      command: started.path,
    };
    const streams = createJsonRpcStreams(socketInfo);
    const writer = writerTo(started, streams);
    child = { running: started, socketInfo, streams, writer, exitHandled: follow(started) };
    publish("socket:opened", socketInfo);
    const where = isSandboxed ? " in the sandbox" : "";
    report(info, "info", `Started ${started.path} as process ${started.pid}${where}.`);
  };

  const transport: Mutable<StdioTransport> = {
    kind: "stdio",
    failure: undefined,
    pid: undefined,
    stderr: () => child?.running.stderr() ?? [],
    strayOutput: () => strayOutput.describe(),
    firstStrayOutput: () => strayOutput.first,
    async start() {
      life.begin();
      starting = open();
      await starting;
    },
    send(message, options) {
      try {
        life.assertOpen();
        if (child?.writer === undefined) throw new TypeError("The transport has not started yet.");
        const { socketInfo, streams, writer } = child;
        if ("method" in message) backlog.assertRoom(message);
        const line = JSON.stringify(message);
        const { write } = writer;
        streams.sending(message);
        options?.onSending?.();
        options?.phases?.begin("server", socketInfo);
        if (!("method" in message)) return replies.send(line.length, () => write(line));
        // A single call has no other messages to be written with.
        return write(line, streams.open.size === 1);
      } catch (error) {
        return Promise.reject(error);
      }
    },
    async close() {
      // Flushes earlier messages.
      child?.writer?.flush();
      end();
      // Ends the child, whether it runs or is being started.
      cancelled.abort();
      await starting?.catch(() => {});
      await child?.exitHandled;
    },
  };
  return transport;
}
