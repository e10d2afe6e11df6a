/** The styles of the page, in the order in which they build on each other. */
import './base.css';
import './controls.css';
import './frame.css';
import './panes.css';
import './reader.css';
import './cards.css';
import './overlays.css';
import './phone.css';
