import "./dialogs.css";
import type { Server } from "@wirescope/gateway/admin";
import { ConnectivityState } from "@wirescope/gateway/admin";
import type { VNode } from "preact";
import { ActionButton, Button, Copy } from "../../design/index.js";
import { Link } from "../routing/index.js";
import { admin, chosenTime, isAdministrator, putServer } from "../store/index.js";
import { openServerDialog } from "./server-dialogs.js";
import { checkCommand, serverState, usesOAuth, whyCommand } from "./server-status.js";

export interface ServerActionsProps {
  readonly server: Server;
  /** Whether all actions are offered, or only those that help now. */
  readonly isComplete?: boolean | undefined;
  /** Whether the link to Explain is omitted, as in Explain itself. */
  readonly isExplained?: boolean | undefined;
}

/** The action buttons for a server; the most helpful one is first. */
export function ServerActions({ server, isComplete = false, isExplained = false }: ServerActionsProps): VNode {
  const { remedy } = serverState(server);
  const { name, state } = server;
  // The past cannot be changed.
  const canAct = isAdministrator.value && chosenTime.value === undefined;
  const isSignedIn = server.authentication?.oauth?.signedIn === true;
  const canReconnect = state !== ConnectivityState.READY && remedy !== "approve" && remedy !== "sign in";
  return (
    <div class="server-actions">
      {canAct && remedy === "approve" && (
        <Button kind="primary" isSmall needsServer onClick={() => openServerDialog("approve", name)}>
          Review and approve
        </Button>
      )}
      {canAct && (remedy === "sign in" || (isComplete && usesOAuth(server))) && (
        <Button
          kind={remedy === "sign in" ? "primary" : "plain"}
          isSmall
          needsServer
          onClick={() => openServerDialog("sign in", name)}
        >
          {isSignedIn ? "Sign in again" : "Sign in"}
        </Button>
      )}
      {canAct && (canReconnect || (isComplete && remedy === undefined && state !== ConnectivityState.READY)) && (
        <ActionButton
          isSmall
          busy="Connecting…"
          run={async () => putServer((await admin.reconnect({ server: name })).server)}
        >
          Reconnect
        </ActionButton>
      )}
      {!isExplained && (remedy !== undefined || isComplete) && (
        <Link to={`/explain/${encodeURIComponent(name)}`} class="button button-plain button-small">
          Explain
        </Link>
      )}
      {canAct && isComplete && isSignedIn && (
        <Button kind="danger" isSmall needsServer onClick={() => openServerDialog("sign out", name)}>
          Sign out
        </Button>
      )}
      {remedy !== undefined && remedy !== "sign in" && remedy !== "approve" && (
        <Copy text={remedy === "check" ? checkCommand(server) : whyCommand(name)} what="command" />
      )}
    </div>
  );
}
