import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Server } from "@wirescope/gateway/admin";
import type { VNode } from "preact";
import { Time } from "../design/index.js";
import { authenticationText } from "../shell/server-actions/index.js";

/** How a server authenticates, and until when. */
export function AuthenticationText({ server }: { readonly server: Server }): VNode {
  const { oauth } = server.authentication ?? {};
  const summary = authenticationText(server);
  if (oauth?.signingIn) return <span>signing in…</span>;
  if (oauth?.signedIn !== true || oauth.expireTime === undefined) return <span title={summary}>{summary}</span>;
  return (
    <span title={summary}>
      OAuth{oauth.account === "" ? "" : `, ${oauth.account}`}, {oauth.renewable ? "renewed" : "expires"}{" "}
      <Time ms={timestampMs(oauth.expireTime)} />
    </span>
  );
}
