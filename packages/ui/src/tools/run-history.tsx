import type { VNode } from "preact";
import { Button, Copy, duration, Empty, Section, Time } from "../design/index.js";
import { visibleLine } from "../design/visible-text.js";
import { forgetRuns, type Run, runs, startRun } from "../shell/mcp/index.js";
import { Link, navigate } from "../shell/routing/index.js";
import { commandLine } from "./command-line.js";
import { offerAddress } from "./offer-address.js";
import { RunState, RunView } from "./run-view.js";

/** The runs in this tab, the latest first. */
export function RunHistory({ selectedId }: { readonly selectedId: number }): VNode {
  const list = runs.value;
  const selected = list.find(({ id }) => id === selectedId);
  const show = (id: number): void => navigate(`/tools?show=runs&run=${id}`, { replace: true });
  if (list.length === 0) {
    return (
      <Empty title="Nothing was run in this tab yet.">
        <Link to="/tools">Select a tool</Link>
      </Empty>
    );
  }
  const again = ({ offer, method, params }: Run): void => show(startRun(offer, method, params));
  return (
    <>
      <Section
        title="Runs in this tab"
        isFlush
        actions={
          <Button isSmall onClick={forgetRuns}>
            Clear
          </Button>
        }
      >
        <ul class="history">
          {list.map((run) => (
            <li key={run.id} class={run === selected ? "history-run history-selected" : "history-run"}>
              <button type="button" class="history-open" aria-pressed={run === selected} onClick={() => show(run.id)}>
                <RunState run={run} />
                <span class="history-name">
                  {visibleLine(run.offer.server)} <strong>{visibleLine(run.offer.name)}</strong>
                </span>
                <code class="history-arguments">{visibleLine(argumentsOf(run), 160)}</code>
              </button>
              <span class="soft history-time">
                {run.endedAtMs !== undefined && `${duration(run.endedAtMs - run.startedAtMs)}, `}
                <Time ms={run.startedAtMs} />
              </span>
              <span class="history-actions">
                <CommandCopy run={run} />
                <Link to={offerAddress(run.offer)}>Open</Link>
                <Button isSmall onClick={() => again(run)}>
                  Run again
                </Button>
              </span>
            </li>
          ))}
        </ul>
      </Section>
      {selected !== undefined && <RunView run={selected} runs={[selected]} onShow={show} />}
    </>
  );
}

function argumentsOf({ method, params }: Run): string {
  return method === "resources/read" ? String(params.uri) : JSON.stringify(params.arguments ?? {});
}

function CommandCopy({ run }: { readonly run: Run }): VNode | null {
  const command = commandLine(run);
  return command === undefined ? null : <Copy text={command} what="command" />;
}
