import { eachChange } from "@wirescope/channelz/internal";
import {
  describeForApproval,
  fingerprintEntry,
  type SecretRegistry,
  ToolServerError,
  type TrustDecision,
} from "@wirescope/tool-server";
import type { Entry } from "@wirescope/tool-server/config";
import type { Implementation } from "@wirescope/tool-server/internal";
import { type Explanation, explainServer, type Step } from "@wirescope/tool-server/why";
import type { GatewayConfiguration } from "../servers/gateway-configuration.js";
import type { ServerFailure } from "../servers/server-connection.js";

export interface GatewayExplainOptions {
  readonly server: string;
  readonly configured: GatewayConfiguration;
  readonly secrets: SecretRegistry;
  readonly info: Implementation;
  /** The last failure that the gateway saw. */
  readonly failure: ServerFailure | undefined;
  readonly onStep: (step: Step) => void;
}

/** Diagnoses a server as the gateway reaches it: with its variables, its tokens and its last failure. */
export function explainGatewayServer(options: GatewayExplainOptions): Promise<Explanation> {
  const { server, configured, secrets, info } = options;
  const { configuration, configurationPath, variables, pluginRoot, ca, sandbox, oauth } = configured;
  return explainServer({
    server,
    configuration,
    configurationPath: configurationPath ?? "the configuration of the gateway",
    variables,
    pluginRoot,
    secrets,
    ca,
    sandbox,
    settings: { info },
    // Commands in the advice connect to the gateway.
    commandArguments: ["--endpoint"],
    setVariable: configured.setVariable ?? ((name) => `Set ${name} in the environment of the gateway, and restart it.`),
    allowInsecureLoopback: oauth?.allowInsecureLoopback,
    onStep: options.onStep,
    lastFailure: options.failure?.error,
    evaluateTrust: (entry) => configured.trust?.evaluate(entry) ?? evaluateByAssertion(configured, entry),
    oauth: oauth && {
      profile: oauth.profile,
      overrides: oauth.overrides,
      // A diagnosis disposes of its vault, but this one belongs to the gateway.
      openVault: async () => ({ ...oauth.vault, dispose: async () => {} }),
    },
  });
}

/** Diagnoses of servers. Concurrent callers share one, because it is slow and sends requests to the server. */
export interface Diagnoses {
  /** Yields all steps of a diagnosis, also those that are done, and returns its result. Starts one with `start` if none is in progress. */
  follow(server: string, start: StartDiagnosis, signal: AbortSignal): AsyncGenerator<Step, Explanation>;
}

type StartDiagnosis = (onStep: (step: Step) => void) => Promise<Explanation>;

type Diagnosis = (signal: AbortSignal) => AsyncGenerator<Step, Explanation>;

export function createDiagnoses(): Diagnoses {
  const inProgress = new Map<string, Diagnosis>();
  return {
    follow(server, start, signal) {
      const diagnosis =
        inProgress.get(server) ?? startDiagnosis((onStep) => start(onStep).finally(() => inProgress.delete(server)));
      inProgress.set(server, diagnosis);
      return diagnosis(signal);
    },
  };
}

function startDiagnosis(start: StartDiagnosis): Diagnosis {
  const steps: Step[] = [];
  const listeners = new Set<() => void>();
  let hasEnded = false;
  const notify = (): void => {
    for (const listener of listeners) listener();
  };
  const watch = (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const result = start((step) => {
    steps.push(step);
    notify();
  }).finally(() => {
    hasEnded = true;
    notify();
  });
  result.catch(() => {});
  return async function* (signal) {
    let next = 0;
    for await (const _ of eachChange(watch, signal)) {
      for (; next < steps.length; next++) yield steps[next] as Step;
      if (hasEnded) return await result;
    }
    throw signal.reason;
  };
}

/** Evaluates the trust of an entry if the configuration has only `assertTrusted`. */
async function evaluateByAssertion(
  { assertTrusted, pluginRoot, variables, configurationPath }: GatewayConfiguration,
  entry: Entry,
): Promise<TrustDecision> {
  const fingerprint = await fingerprintEntry(entry, { pluginRoot, variables });
  try {
    await assertTrusted(entry, variables);
    return { state: "trusted", by: "approval", fingerprint };
  } catch (error) {
    if (!ToolServerError.is(error, "NOT_TRUSTED")) throw error;
    const subject = {
      configuration: configurationPath ?? "",
      server: entry.name,
      pluginRoot,
      fingerprint,
      entry: entry.written,
    };
    return { state: "new", approval: describeForApproval(entry, fingerprint, variables), subject };
  }
}
