import { type GetApprovalResponse, TrustState } from "@wirescope/gateway/admin";
import type { AdminAtHand } from "./ask-gateway.js";
import { failureFrom } from "./ask-gateway.js";
import { listServers } from "./list-servers.js";
import { typeOf } from "./messages.js";

/** Whether an entry may act, in a few words. */
export interface TrustRow {
  readonly name: string;
  readonly type: string;
  readonly state: "trusted" | "new" | "changed" | "denied";
  readonly reason: string;
}

/** What the gateway that runs has to be approved of. */
export interface ApprovalAtHand extends Omit<TrustRow, "type"> {
  /** All that a person has to see. */
  readonly lines: readonly string[];
  /** Whether it is trusted for the run of the gateway alone. */
  readonly isForRun: boolean;
  /** Approves what was shown, and rejects where that is not the same any more. Resolves with why the server does not work then. */
  approve(): Promise<string | undefined>;
}

const states: Readonly<Record<TrustState, TrustRow["state"]>> = {
  [TrustState.UNSPECIFIED]: "new",
  [TrustState.TRUSTED]: "trusted",
  [TrustState.NEW]: "new",
  [TrustState.CHANGED]: "changed",
  [TrustState.DENIED]: "denied",
};

/** Which servers of the gateway that runs may act. */
export async function trustRows(gateway: AdminAtHand): Promise<TrustRow[]> {
  const servers = await listServers(gateway, undefined);
  return Promise.all(
    servers.map(async ({ name, transport }) => {
      const { state, reason } = await ask(gateway, name);
      return { name, type: typeOf(transport) ?? "-", state: states[state] ?? "new", reason };
    }),
  );
}

/** What there is to approve of one. Rejects with SERVER_UNKNOWN. */
export async function approvalThrough(gateway: AdminAtHand, server: string): Promise<ApprovalAtHand> {
  const { client, url } = gateway;
  const { state, reason, description, fingerprint, thisRunOnly } = await ask(gateway, server);
  return {
    name: server,
    state: states[state] ?? "new",
    reason,
    lines: description,
    isForRun: thisRunOnly,
    async approve() {
      try {
        const approved = await client.approve({ server, fingerprint });
        return approved.server?.failure?.message;
      } catch (error) {
        throw failureFrom(error, url);
      }
    },
  };
}

async function ask({ client, url }: AdminAtHand, server: string): Promise<GetApprovalResponse> {
  try {
    return await client.getApproval({ server });
  } catch (error) {
    throw failureFrom(error, url);
  }
}
