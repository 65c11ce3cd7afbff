import { existsSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { printableText } from "@wirescope/channelz/internal";
import type { GatewayListener } from "@wirescope/gateway";
import type { Gateway } from "@wirescope/gateway/internal";
import { runGateway } from "@wirescope/gateway/internal/gateway";
import { createPageAccess } from "@wirescope/gateway/internal/page";
import { createSecretRegistry, type ErrorParts, type SecretRegistry, ToolServerError } from "@wirescope/tool-server";
import { findConfigurationFile } from "@wirescope/tool-server/config";
import { configurationFileAt } from "@wirescope/tool-server/internal";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import type { Demo } from "../demo/demo.js";
import { reportFailure } from "../failure.js";
import { realPathOf } from "../gateway-file.js";
import { createProofPage, newProofKey, proofPath } from "../gateway-proof.js";
import type { Io } from "../io.js";
import type { OptionValues } from "../options.js";
import { pageFolder } from "../page-folder.js";
import { startTelemetry } from "../telemetry/telemetry.js";
import { approvalsOf } from "../tool-server/ask-for-trust.js";
import { UsageError } from "../usage-error.js";
import { inlineMore, postponeWasmTierUp } from "../v8-flags.js";
import { version } from "../version.js";
import { announce } from "./announce.js";
import { openAuditLog } from "./audit-log.js";
import { createConfigurationReader } from "./configuration-reader.js";
import { createDebugSwitch } from "./debug-switch.js";
import { createEventLog, logCertificateChanges } from "./event-log.js";
import { createSettingsReader } from "./gateway-settings.js";
import { assertNoListenOptions, listenHint, listenOptionsOf } from "./listen-options.js";
import { createLinkPage } from "./pages/link-page.js";
import { linkPath } from "./pages/request-link.js";
import { createSessionStore } from "./pages/session-file.js";
import { createSignInLinks, signInForCalls } from "./pages/sign-in-links.js";
import { createPlainPages } from "./pages/status-page.js";
import type { RunGateway } from "./stdio/gateway-link.js";
import type { StdioLog } from "./stdio/run-stdio.js";
import { createServerCommands, type ServerCommands } from "./to-do.js";
import { toolListsToDo } from "./tool-lists.js";
import { printUpNotice } from "./up-notice.js";
import type { upOptions } from "./up-options.js";
import { statesOf, watchFiles } from "./watch-files.js";

/** How long servers may take to connect before the notice reports what does not work yet. */
const settleMs = 5000;

/** The delay after which a gateway that neither starts programs nor opens a vault protects its process. */
const protectMs = 1000;

/** How long the handshake of a stdio client waits for the servers; the timeouts of clients are much longer. */
const handshakeDelayMs = 2000;

/** Runs the gateway until SIGTERM or SIGINT, or until its stdio client disconnects. Returns the exit code. */
export async function runUp(values: OptionValues<typeof upOptions>, io: Io): Promise<number> {
  const program = commandLine();
  if (values.demo && values.config.length > 0) {
    throw new UsageError("--demo and --config cannot be used together.");
  }
  const stop = new AbortController();
  const onSignal = (): void => {
    if (io.stderr.isTTY) io.stderr.write("\nStopping after calls in flight. Press Ctrl-C again to stop now.\n");
    stop.abort();
  };
  // Once: a second signal kills the process, as by default.
  process.once("SIGTERM", onSignal).once("SIGINT", onSignal);
  // The end of a terminal may send it twice: the shell to its jobs, and the system to the group in the foreground. The second may
  // arrive between the end of the gateway and that of the process.
  const onHangUp = (): void => {
    process.once("SIGHUP", () => {});
    stop.abort();
  };
  process.on("SIGHUP", onHangUp);
  const secrets = createSecretRegistry();
  const pipes = { input: process.stdin, output: process.stdout };
  const connectClient = async (files: readonly string[], given: typeof values, runOwn: RunGateway): Promise<void> => {
    const { runStdio } = await import("./stdio/run-stdio.js");
    const { redact } = secrets;
    const log = createStdioLog(given, io);
    await runStdio({ files, values: given, io, ...pipes, stop: stop.signal, runOwn, redact, log });
  };
  let demo: Demo | undefined;
  try {
    const read = async (): Promise<readonly string[]> => {
      const files = values.demo ? [] : await filesOf(values, logForm(values, io) === "json" ? plainToJson(io) : io);
      if (values.stdio) assertNoListenOptions(values);
      return files;
    };
    const files = await read().catch(async (error: unknown) => {
      // The client also gets the reason.
      if (values.stdio) await connectClient([], { ...values, standalone: true }, () => Promise.reject(error));
      throw error;
    });
    if (files.length === 0) demo = await (await import("../demo/demo.js")).startDemo();
    if (!values.stdio || demo !== undefined) {
      const run = { program, stop: stop.signal, pipes, secrets };
      return await serve(demo === undefined ? files : [demo.file], demo, values, io, run);
    }
    await connectClient(files, values, (input, output, signal) =>
      serve(files, undefined, values, io, { program, stop: signal, pipes: { input, output }, secrets }),
    );
    return 0;
  } catch (error) {
    const hint = await listenHint(error, io);
    const failure =
      hint === undefined || !(error instanceof Error)
        ? error
        : new UsageError(`${error.message} ${hint}`.trimEnd(), { cause: error });
    if (logForm(values, io) !== "json") throw failure;
    return reportFailure(failure, plainToJson(io), "up");
  } finally {
    process.off("SIGTERM", onSignal).off("SIGINT", onSignal).off("SIGHUP", onHangUp);
    await demo?.close();
  }
}

interface Run {
  readonly program: string;
  readonly stop: AbortSignal;
  /** The streams of the client of a gateway that does not listen. */
  readonly pipes: { readonly input: Readable; readonly output: Writable };
  readonly secrets: SecretRegistry;
}

async function serve(
  files: readonly string[],
  demo: Demo | undefined,
  given: OptionValues<typeof upOptions>,
  io: Io,
  { program, stop, pipes, secrets }: Run,
): Promise<number> {
  // The demonstration is trusted and local, and its tokens need not be stored.
  const values =
    demo === undefined ? given : { ...given, trust: true, "allow-insecure-loopback": true, vault: "memory" };
  const reader = createConfigurationReader(files, values, io, {
    secrets,
    ...(demo && { extra: demo.variables }),
    loginCommand: (server) => commands.about("login", server),
    onNoSandbox: (reason, program) =>
      logDefect(`${program === "server" ? "Stdio servers" : "Headers helpers"} run without a sandbox. ${reason}`),
    onOAuthNote: (note) => logDefect(note),
  });
  const isPiped = values.stdio;
  if (isPiped) assertNoListenOptions(values);
  const form = logForm(values, io);
  const settings = createSettingsReader(values, io, demo !== undefined);
  const watched = [...reader.files, settings.file];
  const statesBefore = statesOf(watched);
  const { limits, ...read } = settings.read();
  let { tools, contact } = read;
  const listen = isPiped ? false : listenOptionsOf(values);
  const log = form === "off" ? undefined : createEventLog(io, form);
  // A JSON log contains only JSON.
  const logDefect = (reason: string): void => {
    if (log === undefined) io.stderr.write(`wirescope: ${reason}\n`);
    else log({ kind: "defect", reason });
  };
  const audit = openAuditLog(values, io, logDefect);
  // Without a listener, the gateway creates no events.
  const onEvent: GatewayListener | undefined =
    log === undefined && audit === undefined
      ? undefined
      : (event) => {
          log?.(event);
          audit?.listener(event);
        };
  let started: Gateway | undefined;
  let reloadFailure: ToolServerError | undefined;
  const debugLog = log ?? createEventLog(io, "pretty");
  const debug = createDebugSwitch({
    write: (server, text) => debugLog({ kind: "debug", server, text }),
    redact: secrets.redact,
    servers: () => started?.servers() ?? [],
  });
  debug.set(values.debug);
  const telemetry = await startTelemetry({
    env: io.env,
    version: version(),
    secrets,
    say: (text) => void io.stderr.write(`wirescope: ${text}\n`),
    log: logDefect,
  });
  const access = createPageAccess({
    store:
      listen === false
        ? undefined
        : createSessionStore(io.env, {
            port: listen.port ?? 0,
            host: listen.host ?? "",
            files: files.map(realPathOf),
            profile: values.profile ?? profileOf(io),
          }),
  });
  const proofKey = newProofKey();
  secrets.add(proofKey);
  const commands: ServerCommands = createServerCommands({
    program,
    foundFile: demo?.file ?? (values.config.length > 0 ? undefined : await findOwnFile()),
    isDemo: values.demo,
    fileOf: reader.fileOf,
  });
  const links = createSignInLinks(() => gateway);
  const gateway: Gateway = await runGateway({
    // Calls of the demonstration have no user who could sign in; the page has one.
    signIn: demo === undefined ? signInForCalls(values, io, links.linkTo) : {},
    page: { access, assets: pageFolder, plainPages: createPlainPages(() => gateway, commands) },
    pages: {
      [linkPath]: createLinkPage(() => gateway, access),
      [proofPath]: createProofPage(proofKey),
    },
    configurations: await reader.read(),
    secrets,
    info: { name: "wirescope", version: version() },
    listen: listen && logCertificateChanges(listen, io, log),
    tools,
    servers: read.servers,
    limits,
    logsArguments: values["audit-arguments"],
    capturesBodies: values.capture,
    onEvent,
    telemetry,
    debug,
    onReload: () => readAgain(),
    reloadFailure: () => reloadFailure,
    notes: reader.notes,
    contact: () => contact,
  });
  started = gateway;
  postponeWasmTierUp();
  inlineMore();
  const logConfigurationProblems = (): void => {
    for (const { server, problem } of reader.toDo(commands)) logDefect(`${server}: ${problem}`);
  };
  const readNow = async (): Promise<void> => {
    try {
      const next = settings.read();
      await gateway.reload(await reader.read(), next.tools, next.servers);
      reloadFailure = undefined;
      ({ tools, contact } = next);
      logConfigurationProblems();
    } catch (error) {
      if (!(error instanceof UsageError) && !ToolServerError.is(error)) throw error;
      const parts = ToolServerError.is(error) ? error : { problem: error.message, advice: error.next ?? "" };
      const { subject, problem, evidence }: Omit<ErrorParts, "advice"> = parts;
      const advice = `The previous configuration stays in use. ${parts.advice}`.trimEnd();
      const code = ToolServerError.is(error) ? error.code : "CONFIGURATION_UNREADABLE";
      reloadFailure = new ToolServerError(code, { subject, problem, evidence, advice }, { cause: error });
      throw reloadFailure;
    }
  };
  // One after the other, so that a slow read of older files does not overwrite a newer one.
  let lastRead = Promise.resolve();
  const readAgain = (): Promise<void> => {
    const reading = lastRead.then(readNow);
    lastRead = reading.catch(() => {});
    return reading;
  };
  const reload = async (): Promise<void> => {
    await readAgain().catch((error: unknown) => {
      if (!ToolServerError.is(error)) throw error;
      logDefect(error.message);
    });
  };
  const stopWatching = [
    watchFiles(watched, () => void reload(), statesBefore),
    watchFiles([approvalsOf(io).path], () => void reconnectUntrusted(gateway)),
  ];
  // Earlier if a program starts or the vault is opened. Otherwise delayed, so as not to slow down the first responses.
  const protecting = setTimeout(() => {
    const exposure = io.protect?.();
    if (exposure !== undefined) logDefect(exposure);
  }, protectMs);
  const announced = announce(gateway, {
    env: io.env,
    files,
    tokenFile: values["token-file"],
    profile: values.profile ?? profileOf(io),
    proofKey,
    onProblem: logDefect,
  });
  try {
    const ended = new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve(), { once: true }));
    // The instructions are sent only in the handshake, and list the servers that have failed by then.
    if (isPiped) await Promise.race([settled(gateway, handshakeDelayMs), ended]);
    const client = isPiped ? gateway.serveStdio(pipes.input, pipes.output) : undefined;
    if (!isPiped && !stop.aborted) {
      await Promise.race([settled(gateway, settleMs), ended]);
      const more = [...reader.toDo(commands), ...toolListsToDo(tools, gateway.servers(), commands)];
      if (!stop.aborted) {
        printUpNotice(gateway, demo !== undefined, values, io, {
          commands,
          access,
          more,
          gatewayFile: announced?.file,
        });
      }
    } else logConfigurationProblems();
    const traffic = demo === undefined ? undefined : (await import("../demo/traffic.js")).keepCalling(gateway, stop);
    if (!stop.aborted) await (client === undefined ? ended : Promise.race([client.closed, ended]));
    await traffic;
    return 0;
  } finally {
    clearTimeout(protecting);
    announced?.withdraw();
    for (const stopOne of stopWatching) stopOne();
    links.close();
    await gateway.close();
    debug.set(false);
    await audit?.close();
  }
}

/** The files of `--config`; else that of the project, and those that the settings refer to. */
async function filesOf(values: OptionValues<typeof upOptions>, io: Io): Promise<string[]> {
  if (values.config.length > 0) return Promise.all(values.config.map(configurationFileAt));
  const own = await findOwnFile();
  const { configurations } = createSettingsReader(values, io, false).read();
  const missing = configurations.filter((file) => !existsSync(file));
  for (const file of missing) {
    io.stderr.write(
      `wirescope: ${printableText(file)} does not exist and is ignored. It is in configurations in the settings file.\n`,
    );
  }
  const referred = configurations.filter((file) => !missing.includes(file));
  if (own === undefined) return referred;
  return [own, ...referred.filter((file) => realPathOf(file) !== realPathOf(own))];
}

/** The configuration of the project in this folder. */
async function findOwnFile(): Promise<string | undefined> {
  return findConfigurationFile(process.cwd()).catch((error: unknown) => {
    if (ToolServerError.is(error, "CONFIGURATION_UNREADABLE")) return undefined;
    throw error;
  });
}

function logForm(values: OptionValues<typeof upOptions>, { stderr }: Io): "pretty" | "json" | "off" {
  if (values.log === "json" || values.log === "off" || values.log === "pretty") return values.log;
  return values.json && !stderr.isTTY ? "json" : "pretty";
}

/** For messages outside the log, because a JSON log contains only JSON. */
function plainToJson(io: Io): Io {
  const log = createEventLog(io, "json");
  return {
    ...io,
    stderr: { write: (text: string) => log({ kind: "defect", reason: text.replace(/^wirescope: /, "").trimEnd() }) },
  };
}

function createStdioLog(values: OptionValues<typeof upOptions>, io: Io): StdioLog {
  const form = logForm(values, io);
  const silent = (): void => {};
  if (form === "off") return { note: silent, problem: silent };
  if (form === "json") {
    const log = createEventLog(io, form);
    return { note: silent, problem: (reason) => log({ kind: "defect", reason }) };
  }
  const say = (text: string): void => void io.stderr.write(`wirescope: ${text}\n`);
  return { note: say, problem: say };
}

function profileOf({ env }: Io): string {
  return env.WIRESCOPE_PROFILE || "default";
}

/** Resolves once every server has listed its tools or has failed, or after `maxMs`. */
async function settled(gateway: Gateway, maxMs: number): Promise<void> {
  const deadline = Date.now() + maxMs;
  const isOpen = (): boolean =>
    gateway.servers().some(({ state, failure, tools }) => {
      if (state === "READY") return tools === undefined && failure === undefined;
      return state === "CONNECTING" || (state === "IDLE" && failure === undefined);
    });
  while (isOpen() && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Reconnects the servers that were not approved. */
async function reconnectUntrusted(gateway: Gateway): Promise<void> {
  const waiting = gateway.servers().filter(({ failure }) => failure?.code === "NOT_TRUSTED");
  await Promise.allSettled(waiting.map(({ name }) => gateway.reconnect(name)));
}
