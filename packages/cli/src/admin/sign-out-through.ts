import type { SignOutReport } from "@wirescope/tool-server";
import type { AdminAtHand } from "./ask-gateway.js";
import { failureFrom } from "./ask-gateway.js";
import { signOutReportOf } from "./messages.js";

/** Signs the gateway that runs out of a server. Rejects as a sign-out does. */
export async function signOutThrough({ client, url }: AdminAtHand, server: string): Promise<SignOutReport> {
  try {
    return signOutReportOf(server, await client.signOut({ server }));
  } catch (error) {
    throw failureFrom(error, url);
  }
}
