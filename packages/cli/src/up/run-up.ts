import { ChannelzError } from "@wirescope/channelz";
import { type Gateway, startGateway } from "@wirescope/gateway";
import {
  createSecretRegistry,
  findConfigurationFile,
  type SecretRegistry,
  ToolServerError,
} from "@wirescope/tool-server";
import { type DemoPlugin, openDemoPlugin } from "../demo/demo-plugin.js";
import { keepCalling } from "../demo/traffic.js";
import type { Io } from "../io.js";
import type { OptionValues } from "../options.js";
import { createScreen } from "../output/screen.js";
import { approvalsOf } from "../tool-server/ask-for-trust.js";
import { fileOf } from "../tool-server/configuration-input.js";
import { readPem } from "../tool-server/read-pem.js";
import { UsageError } from "../usage-error.js";
import { version } from "../version.js";
import { createEventLog } from "./event-log.js";
import { announceGateway } from "./gateway-file.js";
import { createPluginReader } from "./read-plugins.js";
import { createSignInPage, type SignInPage, signInPath } from "./sign-in-page.js";
import { upNotice } from "./up-notice.js";
import { defaultPort, type upOptions } from "./up-options.js";
import { watchFiles } from "./watch-files.js";

/** How long servers may take to connect before it is told what does not work yet. */
const settleMs = 5000;

/** Runs the gateway until SIGTERM or SIGINT, or until its one client over pipes is gone. Gives the exit code. */
export async function runUp(values: OptionValues<typeof upOptions>, io: Io): Promise<number> {
  const { program = "wirescope" } = io;
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  // Once: who sends a second signal has lost patience, and gets the default.
  process.once("SIGTERM", onSignal).once("SIGINT", onSignal);
  const files = values.demo ? [] : await filesOf(values.config);
  const demo = files.length === 0 ? await openDemoPlugin() : undefined;
  try {
    return await serve(demo === undefined ? files : [demo.file], demo, values, io, { program, stop: stop.signal });
  } catch (error) {
    if (!ChannelzError.is(error, "LISTEN_FAILED")) throw error;
    throw new UsageError(`${error.message} Another port: --port <number>; --port 0 takes a free one.`, {
      cause: error,
    });
  } finally {
    process.off("SIGTERM", onSignal).off("SIGINT", onSignal);
    await demo?.close();
  }
}

interface Run {
  readonly program: string;
  readonly stop: AbortSignal;
}

async function serve(
  files: readonly string[],
  demo: DemoPlugin | undefined,
  given: OptionValues<typeof upOptions>,
  io: Io,
  { program, stop }: Run,
): Promise<number> {
  // The demonstration is ours: it is trusted, on this machine, and its tokens are nobody's.
  const values =
    demo === undefined ? given : { ...given, trust: true, "allow-insecure-loopback": true, vault: "memory" };
  const secrets: SecretRegistry = createSecretRegistry();
  const reader = createPluginReader(files, values, io, { secrets, ...(demo && { extra: demo.variables }) });
  const isPiped = values.stdio;
  const form = logForm(values, io);
  const signIn = createSignInPage(() => gateway);
  const gateway: Gateway = await startGateway({
    pages: { [signInPath]: signIn.handler },
    plugins: await reader.read(),
    secrets,
    info: { name: "wirescope", version: version() },
    listen: isPiped ? false : listenOf(values),
    onEvent: createEventLog(io, form),
  });
  const reload = async (): Promise<void> => {
    try {
      await gateway.reload(await reader.read());
    } catch (error) {
      if (!(error instanceof UsageError) && !ToolServerError.is(error)) throw error;
      io.stderr.write(`wirescope: ${error.message} What was there goes on.\n`);
    }
  };
  const stopWatching = [
    watchFiles(files, () => void reload()),
    watchFiles([approvalsOf(io).path], () => void reconnectUntrusted(gateway)),
  ];
  const takeBack = announce(gateway, io);
  try {
    const ended = new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve(), { once: true }));
    const client = isPiped ? gateway.serveStdio(process.stdin, process.stdout) : undefined;
    if (!isPiped && !stop.aborted) {
      await Promise.race([settled(gateway), ended]);
      if (!stop.aborted) report(gateway, demo !== undefined, values, io, { program, signIn });
    }
    const traffic = demo === undefined ? undefined : keepCalling(gateway, stop);
    if (!stop.aborted) await (client === undefined ? ended : Promise.race([client.closed, ended]));
    await traffic;
    return 0;
  } finally {
    takeBack();
    for (const stopOne of stopWatching) stopOne();
    await gateway.close();
  }
}

async function filesOf(named: readonly string[]): Promise<string[]> {
  if (named.length > 0) return Promise.all(named.map(fileOf));
  try {
    return [await findConfigurationFile(process.cwd())];
  } catch (error) {
    if (ToolServerError.is(error, "CONFIGURATION_UNREADABLE")) return [];
    throw error;
  }
}

function listenOf(values: OptionValues<typeof upOptions>): NonNullable<Parameters<typeof startGateway>[0]["listen"]> {
  const { host, cert, key, port = String(defaultPort) } = values;
  if (!/^\d+$/.test(port) || Number(port) > 65_535)
    throw new UsageError(`--port is a number from 0 to 65535, not "${port}".`);
  if ((cert === undefined) !== (key === undefined)) throw new UsageError("--cert and --key go together.");
  const certificate = readPem(cert, "--cert");
  const privateKey = readPem(key, "--key");
  return {
    port: Number(port),
    ...(host === undefined ? {} : { host }),
    ...(certificate === undefined || privateKey === undefined ? {} : { tls: { cert: certificate, key: privateKey } }),
    ...(values["token-file"] === undefined ? {} : { tokenFile: values["token-file"] }),
    ...(values["no-token"] ? { token: false as const } : {}),
  };
}

function logForm(values: OptionValues<typeof upOptions>, io: Io): "pretty" | "json" | "off" {
  if (values.log === "json" || values.log === "off" || values.log === "pretty") return values.log;
  return io.stderr.isTTY ? "pretty" : "json";
}

function announce(gateway: Gateway, io: Io): () => void {
  const { endpoint, address, token } = gateway;
  if (endpoint === undefined || address === undefined) return () => {};
  return announceGateway(io.env, { pid: process.pid, endpoint, channelz: address, token });
}

function report(
  gateway: Gateway,
  isDemo: boolean,
  values: OptionValues<typeof upOptions>,
  io: Io,
  { program, signIn }: { readonly program: string; readonly signIn: SignInPage },
): void {
  const screen = createScreen(io, values["no-color"]);
  if (values.json) {
    const { endpoint, address: channelz, token } = gateway;
    const servers = Object.fromEntries(gateway.servers().map(({ name, state }) => [name, state]));
    screen.print(JSON.stringify({ channelz, endpoint, token, servers }));
    return;
  }
  const linkFor = (server: string): string => signIn.linkFor(gateway.url ?? "", server);
  const title = isDemo ? "The gateway is up, with a demonstration behind it." : "The gateway is up.";
  screen.printAll(upNotice(gateway, { program, title, linkFor }, screen));
}

/** Resolves once every server has told its tools or has failed, and after a while at the latest. */
async function settled(gateway: Gateway): Promise<void> {
  const deadline = Date.now() + settleMs;
  const isOpen = (): boolean =>
    gateway.servers().some(({ state, failure, tools }) => {
      if (state === "READY") return tools === undefined;
      return state === "CONNECTING" || (state === "IDLE" && failure === undefined);
    });
  while (isOpen() && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Tries those again that waited for an approval. */
async function reconnectUntrusted(gateway: Gateway): Promise<void> {
  const waiting = gateway.servers().filter(({ failure }) => failure?.code === "NOT_TRUSTED");
  await Promise.allSettled(waiting.map(({ name }) => gateway.reconnect(name)));
}
