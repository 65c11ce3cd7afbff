import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { ApproveDialog } from "./approve-dialog.js";
import { SignInDialog } from "./sign-in-dialog.js";
import { SignOutDialog } from "./sign-out-dialog.js";

export type ServerDialog = "sign in" | "sign out" | "approve";

const shown = signal<{ readonly dialog: ServerDialog; readonly server: string } | undefined>(undefined);

/** Opens a dialog about a server. */
export function openServerDialog(dialog: ServerDialog, server: string): void {
  shown.value = { dialog, server };
}

/** The open dialog. It is part of the frame, because the button that opened it disappears when the server works. */
export function ServerDialogs(): VNode | null {
  if (shown.value === undefined) return null;
  const { dialog, server } = shown.value;
  const onClose = (): void => {
    shown.value = undefined;
  };
  if (dialog === "sign in") return <SignInDialog server={server} onClose={onClose} />;
  if (dialog === "sign out") return <SignOutDialog server={server} onClose={onClose} />;
  return <ApproveDialog server={server} onClose={onClose} />;
}
