import "./dialogs.css";
import { type ApprovalChange, type GetApprovalResponse, TrustState } from "@wirescope/gateway/admin";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ActionButton, Button, Dialog, ErrorNote, Loading, visibleLine, visibleText } from "../../design/index.js";
import { admin, putServer } from "../store/index.js";

/** Shows everything that the user approves, as the terminal does, and what changed since the last approval, also in tools. */
export function ApproveDialog({ server, onClose }: { readonly server: string; readonly onClose: () => void }): VNode {
  const [approval, setApproval] = useState<GetApprovalResponse>();
  const [error, setError] = useState<unknown>();
  const load = (): Promise<void> => admin.getApproval({ server }).then(setApproval, setError);
  useEffect(() => void load(), [server]);

  const approve = async (): Promise<void> => {
    try {
      putServer((await admin.approve({ server, fingerprint: approval?.fingerprint ?? "" })).server);
    } catch (reason) {
      // It may have changed: the user must see the new text before the next try.
      await load();
      throw reason;
    }
    onClose();
  };
  const canApprove = approval?.state === TrustState.NEW || (approval?.changes.length ?? 0) > 0;

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
          <ChangeList changes={approval.changes} />
          {approval.description.length > 0 && <pre class="approval-text">{approval.description.join("\n")}</pre>}
        </>
      )}
    </Dialog>
  );
}

/** What was approved and what it is now. */
export function ChangeList({ changes }: { readonly changes: readonly ApprovalChange[] }): VNode | null {
  if (changes.length === 0) return null;
  return (
    <ul class="approval-changes" aria-label="Changes since the last approval">
      {changes.map(({ tool, field, path, before, after }) => (
        <li key={`${tool} ${field} ${path}`}>
          <p class="approval-field">
            {tool === "" ? field : `${field} of the tool ${visibleLine(tool)}`}
            {path !== "" && <span class="soft"> {path}</span>}
          </p>
          {before !== undefined && <pre class="approval-before">− {visibleText(before)}</pre>}
          {after !== undefined && <pre class="approval-after">+ {visibleText(after)}</pre>}
        </li>
      ))}
    </ul>
  );
}
