import "./side-bar.css";
import type { VNode } from "preact";
import { Icon } from "../design/index.js";
import { address, Link } from "./routing/index.js";
import { session } from "./store/index.js";
import { findView, type ViewDefinition, views } from "./views.js";

/** The views that are available in this session. */
export function availableViews(): readonly ViewDefinition[] {
  const current = session.value;
  return views.filter(({ icon, isAvailable }) => {
    return icon !== undefined && (isAvailable === undefined || (current !== undefined && isAvailable(current)));
  });
}

/** The list of views: on the left, or at the bottom on phones. */
export function SideBar(): VNode {
  const current = findView(address.value.path)?.view;
  return (
    <nav class="side-bar" aria-label="Views">
      <ul>
        {availableViews().map((view) => (
          <li key={view.title}>
            <Link to={view.patterns[0] ?? "/"} class="side-bar-link" isCurrent={view === current}>
              <Icon name={view.icon ?? "overview"} />
              <span>{view.title}</span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
