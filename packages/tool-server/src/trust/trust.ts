import type { Environment } from "../process/child-environment.js";
import type { ApprovalSubject } from "./approval.js";
import { type ApprovalStore, createApprovalStore, defaultApprovalsPath } from "./approval-store.js";
import { evaluateTrust, type TrustDecision, type TrustQuestion } from "./evaluate-trust.js";
import type { TrustPolicy } from "./policy.js";
import { readPolicy } from "./read-policy.js";

/** Decides which entries of a configuration may be used. `approvals` and `trustAll` create one. */
export interface Trust {
  /** Evaluates an entry before anything of it runs or connects, and again before each start. Rejects as `evaluateTrust` does. */
  evaluate(
    question: Pick<TrustQuestion, "entry" | "configurationPath" | "pluginRoot" | "variables">,
  ): Promise<TrustDecision>;
  /** Stores the approval of a user, and resolves once it is durable. */
  approve(subject: ApprovalSubject): Promise<unknown>;
  /** The current policy, which also controls the sandbox; undefined if the machine has none. Rejects with POLICY_UNREADABLE. */
  policy(): Promise<TrustPolicy | undefined>;
}

/** The location of approvals and the policy. */
export interface ApprovalsOptions {
  /** The variables that locate them: XDG_CONFIG_HOME, HOME and WIRESCOPE_POLICY. Default: the environment of this process. */
  readonly environment?: Environment | undefined;
  /** The store of approvals. Default: the one that the command `wirescope trust` writes. */
  readonly store?: ApprovalStore | undefined;
}

/**
 * Allows an entry if the user approved it with `wirescope trust` and it has not changed since, or if the policy of the machine
 * allows it. This is the default wherever the servers of a configuration are opened.
 */
export function approvals(options: ApprovalsOptions = {}): Trust {
  return createTrust(options, "approval");
}

/**
 * Allows every entry without an approval, unless the policy of the machine denies it, as `--trust` does. Use it only for a
 * configuration that the program wrote itself: an entry can run any command with the rights of this process.
 */
export function trustAll(options: ApprovalsOptions = {}): Trust {
  return createTrust(options, "flag");
}

function createTrust(options: ApprovalsOptions, mode: "approval" | "flag"): Trust {
  const { environment = process.env } = options;
  const store =
    options.store ?? createApprovalStore({ path: defaultApprovalsPath(environment, environment.HOME || undefined) });
  // Read at each decision, because the owner of the machine may change it while this process runs.
  const policy = (): Promise<TrustPolicy | undefined> => readPolicy(environment.WIRESCOPE_POLICY || undefined);
  return {
    evaluate: async (question) => evaluateTrust({ ...question, store, policy: await policy(), mode }),
    approve: (subject) => store.approve(subject),
    policy,
  };
}
