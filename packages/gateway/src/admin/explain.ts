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
  /** Why the last sign-in failed. */
  readonly signInFailure: ToolServerError | undefined;
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
    lastFailure: options.signInFailure ?? options.failure?.error,
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
  follow(
    server: string,
    start: (onStep: (step: Step) => void) => Promise<Explanation>,
    signal: AbortSignal,
  ): AsyncGenerator<Step, Explanation>;
}

export function createDiagnoses(): Diagnoses {
  interface Diagnosis {
    readonly steps: Step[];
    readonly wakers: Set<() => void>;
    result: Promise<Explanation>;
    hasEnded: boolean;
  }
  const inProgress = new Map<string, Diagnosis>();

  const begin = (server: string, start: Parameters<Diagnoses["follow"]>[1]): Diagnosis => {
    const steps: Step[] = [];
    const wakers = new Set<() => void>();
    const wake = (): void => {
      for (const waker of wakers) waker();
    };
    const result = start((step) => {
      steps.push(step);
      wake();
    });
    const diagnosis: Diagnosis = { steps, wakers, result, hasEnded: false };
    diagnosis.result = result.finally(() => {
      diagnosis.hasEnded = true;
      inProgress.delete(server);
      wake();
    });
    diagnosis.result.catch(() => {});
    inProgress.set(server, diagnosis);
    return diagnosis;
  };

  return {
    async *follow(server, start, signal) {
      const diagnosis = inProgress.get(server) ?? begin(server, start);
      const { steps, wakers } = diagnosis;
      const watch = (waker: () => void): (() => void) => {
        wakers.add(waker);
        return () => wakers.delete(waker);
      };
      let next = 0;
      for await (const _ of eachChange(watch, signal)) {
        for (; next < steps.length; next++) yield steps[next] as Step;
        if (diagnosis.hasEnded) return await diagnosis.result;
      }
      throw signal.reason;
    },
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
