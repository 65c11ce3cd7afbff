import "./button.css";
import { type ComponentChildren, type Context, createContext, type VNode } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { ErrorNote } from "./error-note.js";

export type ButtonKind = "plain" | "primary" | "danger" | "quiet";

export interface ButtonProps {
  readonly children?: ComponentChildren;
  /** Default: plain. */
  readonly kind?: ButtonKind | undefined;
  readonly isSmall?: boolean | undefined;
  readonly isDisabled?: boolean | undefined;
  /** Whether it is disabled while the server of the page does not respond. Default false. */
  readonly needsServer?: boolean | undefined;
  readonly type?: "button" | "submit" | undefined;
  /** The name for screen readers, if the content is an icon. It is also the tooltip. */
  readonly label?: string | undefined;
  readonly isPressed?: boolean | undefined;
  readonly onClick?: ((event: MouseEvent) => void) | undefined;
}

/** Whether the server of the page does not respond. */
export const IsUnreachable: Context<boolean> = createContext(false);

export function Button({
  children,
  kind = "plain",
  isSmall,
  isDisabled,
  needsServer,
  type,
  label,
  isPressed,
  onClick,
}: ButtonProps): VNode {
  const isUnreachable = useContext(IsUnreachable);
  const classes = ["button", `button-${kind}`, isSmall && "button-small", label !== undefined && "button-icon"];
  return (
    <button
      type={type ?? "button"}
      class={classes.filter(Boolean).join(" ")}
      disabled={isDisabled === true || (needsServer === true && isUnreachable)}
      aria-label={label}
      title={label}
      aria-pressed={isPressed}
      onClick={onClick}
    >
      {children}
    </button>
  );
}

export interface ActionButtonProps {
  readonly children: ComponentChildren;
  readonly kind?: ButtonKind | undefined;
  readonly isSmall?: boolean | undefined;
  readonly isDisabled?: boolean | undefined;
  /** The button's text while the action runs. Default: its children. */
  readonly busy?: string | undefined;
  /** Runs the action. If it rejects, the message appears below the button. */
  readonly run: (signal: AbortSignal) => Promise<unknown>;
}

/** A button for an action that takes time and may fail. The error stays next to it until the next try. */
export function ActionButton({ children, kind, isSmall, isDisabled, busy, run }: ActionButtonProps): VNode {
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<unknown>();
  const controller = useRef(new AbortController());
  useEffect(() => {
    controller.current = new AbortController();
    return () => controller.current.abort();
  }, []);
  const start = async (): Promise<void> => {
    const { signal } = controller.current;
    setRunning(true);
    setError(undefined);
    try {
      await run(signal);
    } catch (reason) {
      if (!signal.aborted) setError(reason);
    } finally {
      if (!signal.aborted) setRunning(false);
    }
  };
  return (
    <span class="action">
      <Button
        kind={kind}
        isSmall={isSmall}
        isDisabled={isDisabled === true || isRunning}
        needsServer
        onClick={() => void start()}
      >
        {isRunning && busy !== undefined ? busy : children}
      </Button>
      {error !== undefined && <ErrorNote error={error} />}
    </span>
  );
}
