import "./run-view.css";
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button, duration, ErrorNote, StateMark, Time, type Tone } from "../design/index.js";
import { visibleLine } from "../design/visible-text.js";
import { cancelRun, inputRequests, type Run } from "../shell/mcp/index.js";
import { showInputRequest } from "./input-request-dialog.js";
import { PromptMessages } from "./prompt-messages.js";
import { contentBlocks } from "./result/content-blocks.js";
import { Blocks, ToolResult } from "./result/result-view.js";

export interface RunViewProps {
  readonly run: Run;
  /** The runs of the same offer, the latest first. */
  readonly runs: readonly Run[];
  readonly onShow: (id: number) => void;
  /** Puts the arguments of a run into the form. */
  readonly onReuse?: ((run: Run) => void) | undefined;
  /** Shown above the result. */
  readonly children?: ComponentChildren;
}

/** A run: its state, and its result once it ended. */
export function RunView({ run, runs, onShow, onReuse, children }: RunViewProps): VNode {
  return (
    <section class="run" aria-label="Result">
      <header class="run-header">
        <RunState run={run} />
        <Elapsed run={run} />
        {run.status === "running" && (
          <Button isSmall kind="danger" onClick={() => cancelRun(run.id)}>
            Cancel
          </Button>
        )}
        {runs.length > 1 && (
          <label class="run-choice">
            <span class="visually-hidden">Run</span>
            <select value={String(run.id)} onChange={(event) => onShow(Number(event.currentTarget.value))}>
              {runs.map((each, index) => (
                <option key={each.id} value={String(each.id)}>
                  {`${index === 0 ? "latest" : new Date(each.startedAtMs).toLocaleTimeString()}: ${stateWord(each)}`}
                </option>
              ))}
            </select>
          </label>
        )}
        {onReuse !== undefined && run !== runs[0] && (
          <Button isSmall onClick={() => onReuse(run)}>
            Use these arguments
          </Button>
        )}
      </header>
      <Progress run={run} />
      <PendingInput run={run} />
      {run.error !== undefined && <ErrorNote error={visibleLine(run.error, 2000)} />}
      {children}
      <RunResult run={run} />
      {run.logs.length > 0 && (
        <details class="run-logs">
          <summary>Log messages ({run.logs.length})</summary>
          <pre>{run.logs.map((line) => visibleLine(line, 1000)).join("\n")}</pre>
        </details>
      )}
    </section>
  );
}

function RunResult({ run: { status, result, method } }: { readonly run: Run }): VNode | null {
  if (result === undefined) {
    return status === "done" ? <p class="soft">This result is no longer kept. Run it again.</p> : null;
  }
  if (method === "resources/read") return <Blocks blocks={contentBlocks(result.contents)} />;
  if (method === "prompts/get") return <PromptMessages messages={result.messages} />;
  return <ToolResult result={result} />;
}

export function stateWord({ status, result, task }: Run): string {
  if (status === "running")
    return task === undefined ? "running" : `task ${visibleLine(task.status.replaceAll("_", " "))}`;
  if (status === "failed") return result === undefined ? "failed" : "the tool reported an error";
  return status;
}

export function RunState({ run }: { readonly run: Run }): VNode {
  const tones: Readonly<Record<Run["status"], Tone>> = {
    running: "connecting",
    done: "ready",
    failed: "failing",
    cancelled: "idle",
  };
  return (
    <span role="status">
      <StateMark tone={tones[run.status]}>{stateWord(run)}</StateMark>
    </span>
  );
}

const tickMs = 100;

/** How long a run took, or has been running. */
function Elapsed({ run: { startedAtMs, endedAtMs } }: { readonly run: Run }): VNode {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (endedAtMs !== undefined) return undefined;
    const timer = setInterval(() => setNow(Date.now()), tickMs);
    return () => clearInterval(timer);
  }, [endedAtMs]);
  return (
    <span class="soft">
      {duration(Math.max(0, (endedAtMs ?? now) - startedAtMs))}
      {endedAtMs !== undefined && (
        <>
          , <Time ms={startedAtMs} />
        </>
      )}
    </span>
  );
}

function Progress({ run: { status, progress, task } }: { readonly run: Run }): VNode | null {
  if (status !== "running" || (progress === undefined && task?.message === undefined)) return null;
  const { done, total, message } = progress ?? { done: 0, total: undefined, message: undefined };
  const text = message ?? task?.message;
  return (
    <div class="run-progress">
      {progress !== undefined && (
        <progress
          aria-label="Progress"
          {...(total === undefined || total <= 0 ? {} : { value: Math.min(done, total), max: total })}
        />
      )}
      <span class="soft">
        {progress !== undefined && `${done}${total === undefined ? "" : ` of ${total}`} `}
        {text !== undefined && visibleLine(text, 300)}
      </span>
    </div>
  );
}

function PendingInput({ run }: { readonly run: Run }): VNode | null {
  const request = inputRequests.value.find((each) => each.run.id === run.id);
  if (request === undefined) return null;
  return (
    <p class="run-question">
      <StateMark tone="waiting">{visibleLine(run.offer.server)} asks for input</StateMark>
      <Button isSmall kind="primary" onClick={() => showInputRequest(request.id)}>
        Respond
      </Button>
    </p>
  );
}
