import {
  type ApprovalStore,
  type AssertTrusted,
  createApprovalStore,
  defaultApprovalsPath,
  evaluateTrust,
  notTrusted,
  readPolicy,
  renderDistrust,
  type TrustPolicy,
} from "@wirescope/tool-server";
import type { Io } from "../io.js";

export interface TrustAskerOptions {
  /** The configuration. */
  readonly file: string;
  readonly pluginRoot: string;
  readonly io: Io;
  /** Whether `--trust` was given. */
  readonly isFlagged: boolean;
}

/**
 * Makes sure that an entry may act: by an approval, a policy or `--trust`; else it asks the person at the terminal, once for each.
 * Rejects with NOT_TRUSTED, also if there is no terminal.
 */
export function createTrustAsker({ file, pluginRoot, io, isFlagged }: TrustAskerOptions): AssertTrusted {
  const store = approvalsOf(io);
  return async (entry, variables) => {
    // What is asked about here may start a program next, and it must not find us open.
    const runsHelper = entry.type !== "stdio" && entry.headersHelper !== undefined;
    if (entry.type === "stdio" || runsHelper || entry.secretCommands.length > 0) io.protect?.();
    const policy = await policyOf(io);
    const mode = isFlagged ? "flag" : "approval";
    const decision = await evaluateTrust({
      entry,
      configurationPath: file,
      pluginRoot,
      variables,
      store,
      policy,
      mode,
    });
    if (decision.state === "trusted") return;
    if (decision.state !== "denied") {
      io.stderr.write(`${renderDistrust(entry.name, decision).join("\n")}\n`);
      const reply = await io.ask?.("Approve this server? You are asked again only if it changes. [y/N] ");
      if (reply !== undefined && /^y(?:es)?$/i.test(reply.trim())) {
        await store.approve(decision.subject);
        return;
      }
    }
    throw notTrusted(entry.name, decision);
  };
}

/** The approvals of the user. */
export function approvalsOf({ env }: Io): ApprovalStore {
  return createApprovalStore({ path: defaultApprovalsPath(env, env.HOME) });
}

/** The policy that holds here: WIRESCOPE_POLICY, else the one of the machine. */
export function policyOf({ env }: Io): Promise<TrustPolicy | undefined> {
  return readPolicy(env.WIRESCOPE_POLICY || undefined);
}
