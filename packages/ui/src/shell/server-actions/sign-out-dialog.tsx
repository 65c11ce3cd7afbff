import { type Revocation, Revocation_Outcome, type SignOutResponse } from "@wirescope/gateway/admin";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { ActionButton, Button, Dialog } from "../../design/index.js";
import { admin } from "../store/index.js";

/** Asks before the tokens of a server are deleted, then says what happened to them. */
export function SignOutDialog({ server, onClose }: { readonly server: string; readonly onClose: () => void }): VNode {
  const [result, setResult] = useState<SignOutResponse>();
  return (
    <Dialog
      title={`Sign out of ${server}`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{result === undefined ? "Cancel" : "Close"}</Button>
          {result === undefined && (
            <ActionButton
              kind="danger"
              busy="Signing out…"
              run={async () => setResult(await admin.signOut({ server }))}
            >
              Sign out
            </ActionButton>
          )}
        </>
      }
    >
      {result === undefined ? (
        <p>
          The gateway revokes and deletes its tokens for {server}. Clients cannot use the server until somebody signs
          in.
        </p>
      ) : (
        <ul role="status">
          {signOutLines(server, result).map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
    </Dialog>
  );
}

/** What happened to the tokens, as `wirescope logout` prints it. */
export function signOutLines(server: string, { wiped, problems, remaining }: SignOutResponse): readonly string[] {
  const lines = wiped.length === 0 ? [`You were not signed in to ${server}.`] : [];
  for (const { issuer, refreshToken, accessToken } of wiped) {
    lines.push(`Deleted the tokens issued by ${issuer}.`);
    if (refreshToken !== undefined) lines.push(`Refresh token: ${revocationText(refreshToken)}.`);
    if (accessToken !== undefined) lines.push(`Access token: ${revocationText(accessToken)}.`);
  }
  for (const { url, tenant } of remaining) {
    lines.push(`The tokens of ${server} for ${tenant === "" ? url : `${url} with ${tenant}`} remain.`);
  }
  return [...lines, ...problems];
}

function revocationText({ outcome, reason }: Revocation): string {
  if (outcome === Revocation_Outcome.REVOKED) return "revoked";
  if (outcome === Revocation_Outcome.FAILED) return `not revoked: ${reason}`;
  return "not revoked: the authorization server does not support it; the token is valid until it expires";
}
