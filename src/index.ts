export { ReveilleModule } from './reveille.module.js';
