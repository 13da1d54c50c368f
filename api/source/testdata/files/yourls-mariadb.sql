/*M!999999\- enable the sandbox mode */ 
-- MariaDB dump 10.19  Distrib 10.11.6-MariaDB, for debian-linux-gnu (x86_64)
--
-- Host: localhost    Database: yourls
-- ------------------------------------------------------
/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!40103 SET TIME_ZONE='+00:00' */;

DROP TABLE IF EXISTS `yourls_log`;
CREATE TABLE `yourls_log` (
  `click_id` int(11) NOT NULL AUTO_INCREMENT,
  `click_time` datetime NOT NULL,
  `shorturl` varchar(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `referrer` varchar(200) NOT NULL,
  `user_agent` varchar(255) NOT NULL,
  `ip_address` varchar(41) NOT NULL,
  `country_code` char(2) NOT NULL,
  PRIMARY KEY (`click_id`),
  KEY `shorturl` (`shorturl`)
) ENGINE=InnoDB AUTO_INCREMENT=4 DEFAULT CHARSET=utf8mb4;
INSERT INTO `yourls_log` VALUES
(1,'2024-01-05 10:11:12','spring','direct','Mozilla/5.0 (X11; Linux x86_64)','192.0.2.1','DE'),
(2,'2024-01-05 23:59:59','spring','https://news.example/','curl/8','192.0.2.2','');
DROP TABLE IF EXISTS `yourls_options`;
CREATE TABLE `yourls_options` (
  `option_id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `option_name` varchar(64) NOT NULL DEFAULT '',
  `option_value` longtext NOT NULL,
  PRIMARY KEY (`option_id`,`option_name`)
) ENGINE=InnoDB;
INSERT INTO `yourls_options` VALUES
(1,'version','1.9.2'),
(2,'active_plugins','a:1:{i:0;s:17:\"sample/plugin.php\";}'),
(3,'odd','; INSERT INTO `yourls_url` VALUES (\'no\',\'https://no.example/\',\'\',\'\',\'\',1); -- /*');
DROP TABLE IF EXISTS `yourls_url`;
CREATE TABLE `yourls_url` (
  `keyword` varchar(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  `url` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `title` text CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci DEFAULT NULL,
  `timestamp` timestamp NOT NULL DEFAULT current_timestamp(),
  `ip` varchar(41) NOT NULL,
  `clicks` int(10) unsigned NOT NULL,
  PRIMARY KEY (`keyword`),
  KEY `ip` (`ip`),
  KEY `timestamp` (`timestamp`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
INSERT INTO `yourls_url` VALUES
('spring','https://shop.example/spring?a=1&b=%252F','Spring \'24: \"all\" new; really (yes), it''s','2024-01-02 03:04:05','192.0.2.9',2),
('Spring','https://shop.example/SPRING?Q=Ab','Line one\nLine two','2024-01-02 03:04:06','192.0.2.9',0),
('emoji','https://shop.example/%F0%9F%8C%B8','Blüte 🌸 – 桜',  '2024-02-03 00:00:00','::1',10),
('none','https://shop.example/a%0Ab',NULL,'0000-00-00 00:00:00','',7);
