import "./dialogs.css";
import { type ApprovalChange, type GetApprovalResponse, TrustState } from "@wirescope/gateway/admin";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ActionButton, Button, Dialog, ErrorNote, Loading } from "../../design/index.js";
import { actions } from "../store/index.js";

/** Shows everything that the user approves, as the terminal does, and what changed since the last approval. */
export function ApproveDialog({ server, onClose }: { readonly server: string; readonly onClose: () => void }): VNode {
  const [approval, setApproval] = useState<GetApprovalResponse>();
  const [error, setError] = useState<unknown>();
  const load = (): Promise<void> => actions.approval(server).then(setApproval, setError);
  useEffect(() => void load(), [server]);

  const approve = async (): Promise<void> => {
    try {
      await actions.approve(server, approval?.fingerprint ?? "");
    } catch (reason) {
      // It may have changed: the user must see the new text before the next try.
      await load();
      throw reason;
    }
    onClose();
  };
  const canApprove = approval?.state === TrustState.NEW || approval?.state === TrustState.CHANGED;

  return (
    <Dialog
      title={`Approve ${server}`}
      isWide
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{canApprove ? "Not now" : "Close"}</Button>
          {canApprove && (
            <ActionButton kind="primary" busy="Approving…" run={approve}>
              Approve
            </ActionButton>
          )}
        </>
      }
    >
      {error !== undefined && <ErrorNote error={error} />}
      {approval === undefined && error === undefined && <Loading what="approval" />}
      {approval !== undefined && (
        <>
          <p>{approval.reason}</p>
          {approval.changes.length > 0 && <Changes changes={approval.changes} />}
          {approval.description.length > 0 && <pre class="approval-text">{approval.description.join("\n")}</pre>}
        </>
      )}
    </Dialog>
  );
}

function Changes({ changes }: { readonly changes: readonly ApprovalChange[] }): VNode {
  return (
    <ul class="approval-changes" aria-label="Changes since the last approval">
      {changes.map(({ field, path, before, after }) => (
        <li key={`${field} ${path}`}>
          <p class="approval-field">
            {field}
            {path !== "" && <span class="soft"> {path}</span>}
          </p>
          {before !== undefined && <pre class="approval-before">− {before}</pre>}
          {after !== undefined && <pre class="approval-after">+ {after}</pre>}
        </li>
      ))}
    </ul>
  );
}
