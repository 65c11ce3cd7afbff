import { rmSync } from "node:fs";
import { getEnvironmentData, isMainThread, setEnvironmentData } from "node:worker_threads";
import { type ListenTls, listenChannelz } from "@wirescope/channelz/listener";
import { createRegistry, type Registry } from "@wirescope/channelz/registry";
import { parseListenSetting } from "./listen-setting.js";
import { observeProcess, type ProcessObservation } from "./observe-process.js";

/** An observed process, and the address of its Channelz listener. */
export interface ObservedProcess {
  readonly registry: Registry;
  readonly observation: ProcessObservation;
  /** `host:port` or `unix:/path`. */
  readonly address: string;
}

/** Set for the threads that this thread starts, because it has the address. */
const observedKey = "wirescope:observed";

/**
 * Observes this process and serves Channelz if `WIRESCOPE_LISTEN` is set, to `host:port`, `:port`, or `unix:/path` in which
 * `{pid}` is the process id. `WIRESCOPE_TOKEN_FILE` contains the token that clients must send, `WIRESCOPE_CERT_FILE` and
 * `WIRESCOPE_KEY_FILE` enable TLS, and `WIRESCOPE_CLIENT_CA_FILE` mutual TLS.
 *
 * A worker thread needs a listener of its own. It is observed if the port is 0, or if the thread that started it is not observed.
 *
 * Prints the address to standard error. Never throws: a failure is emitted as a warning that says what to do. The listener does not keep the process alive.
 */
export async function startFromEnvironment(env: NodeJS.ProcessEnv): Promise<ObservedProcess | undefined> {
  const setting = env.WIRESCOPE_LISTEN;
  if (setting === undefined || setting === "") return undefined;
  const registry = createRegistry();
  // Before the first await, so that nothing the application does is missed.
  const observation = observeProcess(registry);
  try {
    const where = parseListenSetting(setting, process.pid);
    // Node loads this in each worker thread too, but the thread that started it has the address.
    if (!isMainThread && where.port !== 0 && getEnvironmentData(observedKey) === true) {
      observation.stop();
      return undefined;
    }
    setEnvironmentData(observedKey, true);
    const tokenFile = env.WIRESCOPE_TOKEN_FILE;
    const tls = tlsOf(env);
    const listener = await listenChannelz(registry, {
      ...where,
      ...(tokenFile !== undefined && tokenFile !== "" && { tokenFile }),
      ...(tls !== undefined && { tls }),
      keepsProcessAlive: false,
    });
    if (where.path !== undefined && isMainThread) removeAtEnd(where.path);
    process.stderr.write(`wirescope: Channelz of process ${process.pid} on ${listener.address}\n`);
    return { registry, observation, address: listener.address };
  } catch (error) {
    observation.stop();
    process.emitWarning(
      `This ${isMainThread ? "process" : "worker thread"} is not observed. ${error instanceof Error ? error.message : String(error)}`,
      {
        type: "WirescopeWarning",
        code: "WIRESCOPE_NOT_OBSERVED",
      },
    );
    return undefined;
  }
}

/**
 * Removes the file of a Unix socket when `process.exit` or SIGTERM ends the process. If the application has a listener for SIGTERM
 * too, it decides when the process exits.
 */
function removeAtEnd(path: string): void {
  const remove = (): void => rmSync(path, { force: true });
  process.once("exit", remove);
  // Once and first: other listeners, such as those of signal-exit, do not find it in the list.
  process.prependOnceListener("SIGTERM", () => {
    if (process.listenerCount("SIGTERM") > 0) return;
    remove();
    process.kill(process.pid, "SIGTERM");
  });
}

function tlsOf(env: NodeJS.ProcessEnv): ListenTls | undefined {
  const [cert, key, ca] = [env.WIRESCOPE_CERT_FILE, env.WIRESCOPE_KEY_FILE, env.WIRESCOPE_CLIENT_CA_FILE];
  if (!cert && !key && !ca) return undefined;
  if (!cert || !key) {
    throw new TypeError(
      "TLS requires both WIRESCOPE_CERT_FILE and WIRESCOPE_KEY_FILE. Set both, or unset them and WIRESCOPE_CLIENT_CA_FILE.",
    );
  }
  return { cert: { file: cert }, key: { file: key }, ...(ca && { ca: { file: ca } }) };
}
